library(testthat)
library(disclique)

test_check("disclique")
