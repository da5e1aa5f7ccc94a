"""From which area under the ROC curve on one column alone may give a diagnosis away: for look, fit and check.

Two levels that reach 0.92 have an odds ratio above 100: no cause has.
"""

NUMBER_TELLS, LEVEL_TELLS = 0.95, 0.92
