# Reference numbers for tests/test_designs.py: conditional logistic regression, proportional odds, Poisson,
# and Cox regression of rows that start late, of strata, of many ties, and of competing events.
# Rscript designs.R FOLDER writes designs.json, and the tables that it was made of, into FOLDER.
# infert: Trichopoulos et al. (1976), from R's datasets; housing, quine: Venables & Ripley, from MASS;
# cgd: Fleming & Harrington (1991), retinopathy: Huster et al. (1989), nwtco: Breslow & Chatterjee (1999),
# heart: Crowley & Hu (1977), mgus2: Kyle et al. (2002), from survival.
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
many <- subset(infert, education != "0-5yrs")
large <- clogit(case ~ spontaneous + induced + strata(education), data = many, method = "efron",
                control = coxph.control(eps = 1e-12))
keep("infert large sets, Efron", coef(large))

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
exactly <- coxph.control(eps = 1e-12, iter.max = 50)
kept <- function(data, name, columns) {
  write.csv(data[columns], file.path(folder, paste0(name, ".csv")), row.names = FALSE)
}
kept(cgd, "cgd", c("id", "treat", "sex", "age", "inherit", "steroids", "tstart", "tstop", "status"))
again <- coxph(Surv(tstart, tstop, status) ~ treat + sex + age + inherit + steroids, data = cgd, cluster = id,
               control = exactly)
keep("cgd start and stop", coef(again))
keep("cgd start and stop, robust errors", errors(again))

kept(heart, "heart", c("id", "start", "stop", "event", "age", "year", "surgery", "transplant"))
keep("heart start and stop", coef(coxph(Surv(start, stop, event) ~ age + year + surgery + transplant,
                                        data = heart, control = exactly)))

kept(retinopathy, "retinopathy", c("id", "age", "type", "trt", "futime", "status", "risk"))
eyes <- coxph(Surv(futime, status) ~ age + trt + risk + strata(type), data = retinopathy, control = exactly)
keep("retinopathy strata", coef(eyes))
keep("retinopathy strata, errors", errors(eyes))

kept(nwtco, "nwtco", c("histol", "stage", "age", "edrel", "rel"))
tumour <- coxph(Surv(edrel, rel) ~ histol + stage + age, data = nwtco, control = exactly)
keep("nwtco ties", coef(tumour))
keep("nwtco ties, errors", errors(tumour))

known <- mgus2[complete.cases(mgus2[c("age", "sex", "hgb", "creat", "mspike")]), ]
known$months <- with(known, ifelse(pstat == 0, futime, ptime))
known$end <- with(known, ifelse(pstat == 0, ifelse(death == 0, "censored", "death"), "myeloma"))
known <- known[known$months > 0, ]
kept(known, "mgus2", c("age", "sex", "hgb", "creat", "mspike", "months", "end"))
cause <- coxph(Surv(months, end == "myeloma") ~ age + sex + hgb + creat + mspike, data = known,
               control = exactly)
keep("mgus2 cause-specific", coef(cause))
keep("mgus2 cause-specific, errors", errors(cause))
course <- summary(survfit(Surv(months, factor(end, c("censored", "myeloma", "death"))) ~ 1, data = known),
                  times = c(60, 120, 240))
reached <- course$pstate[, 2]
names(reached) <- course$time
keep("mgus2 Aalen-Johansen", reached)
spread <- course$std.err[, 2]
names(spread) <- course$time
keep("mgus2 Aalen-Johansen, errors", spread)
writeLines(c("{", paste(lines, collapse = ",\n"), "}"), file.path(folder, "designs.json"))
