arguments <- function(...) disclique:::as_arguments(list(...))

test_that("names of R become options of the command line", {
  expect_equal(arguments(max_risk = 0.3), c("--max-risk", "0.3"))
  expect_equal(arguments(label = c("sex", "age")), c("--label", "sex", "--label", "age"))
  expect_equal(arguments(coordinates = c("lon", "lat")), c("--coordinates", "lon,lat"))
  expect_equal(arguments(sensitivity = FALSE, quiet = TRUE), c("--no-sensitivity", "--quiet"))
  expect_equal(arguments(for_ = "clusters", budget = NULL), c("--for", "clusters"))
  expect_equal(arguments(seed = 100000, alpha = 0.1), c("--seed", "100000", "--alpha", "0.1"))
})

test_that("what cannot be meant is refused", {
  expect_error(disclique:::as_arguments(list(x = NA_character_)), "missing")
  expect_error(dq_command("audit", 3), "needs a name")
  expect_error(disclique:::as_file(1:3), "data frame")
  expect_error(disclique:::as_file(data.frame(x = I(list(1, 2)))), "list")
})

test_that("a data frame goes out as it is, and a table comes back with its ids", {
  people <- data.frame(id = c("007", "08"), sex = factor(c("F", "F")), name = c("J\u00f6rg", NA), x = c(1 / 3, 1e6))
  names(people)[3] <- "first name"
  file <- disclique:::as_file(people)
  on.exit(unlink(file$path))
  back <- disclique:::read_table(file$path)
  expect_equal(names(back), names(people))
  expect_equal(as.character(back$sex), c("F", "F"))
  expect_equal(back$id, people$id)
  expect_equal(back[["first name"]], people[["first name"]])
  expect_equal(back$x, people$x, tolerance = 1e-14)
})
