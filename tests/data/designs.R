# Reference numbers for tests/test_designs.py: conditional logistic regression, proportional odds, Poisson.
# Rscript designs.R FOLDER writes designs.json, and the tables that it was made of, into FOLDER.
# infert: Trichopoulos et al. (1976), from R's datasets; housing, quine: Venables & Ripley, from MASS.
library(survival)
library(MASS)
folder <- commandArgs(TRUE)[1]
number <- function(x) paste0("{", paste(sprintf('"%s": %.12g', names(x), x), collapse = ", "), "}")
lines <- c()
keep <- function(name, x) lines <<- c(lines, sprintf('"%s": %s', name, number(x)))
errors <- function(fit) sqrt(diag(vcov(fit)))

data(infert)
write.csv(infert, file.path(folder, "infert.csv"), row.names = FALSE)
one <- clogit(case ~ spontaneous + induced + strata(stratum), data = infert, eps = 1e-12)
keep("infert one case a set", coef(one))
keep("infert one case a set, errors", errors(one))
several <- clogit(case ~ spontaneous + induced + strata(pooled.stratum), data = infert, eps = 1e-12)
keep("infert several cases a set", coef(several))
keep("infert several cases a set, errors", errors(several))
large <- clogit(case ~ spontaneous + induced + strata(education), data = infert, method = "efron",
                control = coxph.control(eps = 1e-12))
keep("infert sets of education, Efron", coef(large))

data(housing)
write.csv(housing, file.path(folder, "housing.csv"), row.names = FALSE)
odds <- polr(Sat ~ as.integer(Infl) + Type + as.integer(Cont), weights = Freq, data = housing, Hess = TRUE,
             control = list(reltol = 1e-15, maxit = 1000))
keep("housing proportional odds", c(coef(odds), odds$zeta))
keep("housing proportional odds, errors", errors(odds))

data(quine)
quine$Weeks <- 20 + seq_len(nrow(quine)) %% 20
write.csv(quine, file.path(folder, "quine.csv"), row.names = FALSE)
rate <- glm(Days ~ Eth + Sex + Age + Lrn + offset(log(Weeks)), family = poisson, data = quine,
            control = glm.control(epsilon = 1e-14))
keep("quine Poisson", coef(rate))
keep("quine Poisson, errors", errors(rate))
wider <- glm.nb(Days ~ Eth + Sex + Age + Lrn + offset(log(Weeks)), data = quine,
                control = glm.control(epsilon = 1e-12, maxit = 100))
keep("quine negative binomial", c(coef(wider), theta = wider$theta))
fixed <- glm(Days ~ Eth + Sex + Age + Lrn + offset(log(Weeks)), family = negative.binomial(1 / 0.5),
             data = quine, control = glm.control(epsilon = 1e-14))
keep("quine negative binomial, dispersion 0.5", coef(fixed))
writeLines(c("{", paste(lines, collapse = ",\n"), "}"), file.path(folder, "designs.json"))
