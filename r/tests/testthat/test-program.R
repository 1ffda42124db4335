test_that("a program that is not there is said to be missing", {
  old <- Sys.getenv("DISCLIQUE", NA)
  on.exit(if (is.na(old)) Sys.unsetenv("DISCLIQUE") else Sys.setenv(DISCLIQUE = old))
  Sys.setenv(DISCLIQUE = "no-such-program-here")
  expect_false(dq_available())
  expect_error(dq_command("audit"), "DISCLIQUE")
})

test_that("an audit comes back with its decision, in both directions", {
  needs_program()
  people <- dq_example(40)
  expect_equal(dim(people), c(40L, 6L))
  loose <- audit_of(people, mask = "gaussian:sigma=500km", max_risk = 0.99)
  tight <- audit_of(people, mask = "none", max_risk = 0.01)
  expect_equal(loose$status, "meets")
  expect_equal(loose$exit, 0L)
  expect_equal(tight$status, "fails")
  expect_equal(tight$exit, 4L)
  expect_equal(nrow(tight$records), 40L)
  expect_gt(tight$risk$risk, 0.9) # as it is, distances name everybody
  expect_gte(tight$risk$high, tight$risk$risk)
  expect_lt(tight$attacks$risk, tight$risk$risk) # guessing by labels alone is not what decides
  expect_equal(c(tight$risk$meets, loose$risk$meets), c(FALSE, TRUE))
  expect_true(file.exists(tight$report))
  expect_output(print(tight), "fails")
  page <- dq_report(tight, tempfile(fileext = ".html"), language = "de")
  expect_match(paste(readLines(page, encoding = "UTF-8", warn = FALSE), collapse = "\n"), "lang=\"de\"")
})

test_that("a release hides ids and true places, and its key undoes it", {
  needs_program()
  people <- dq_example(40)
  folder <- tempfile("release")
  dir.create(folder)
  made <- dq_mask(people, "gaussian:sigma=1km", file.path(folder, "released.csv"), id = "id",
                  label = c("sex", "age_class"), coordinates = c("lon", "lat"), as = "places",
                  key = file.path(folder, "key.csv"))
  expect_setequal(names(made$table), c("record", "sex", "age_class", "lon", "lat"))
  expect_false(any(people$id %in% unlist(made$table)))
  expect_false(any(people$lon %in% made$table$lon))
  found <- dq_attack(made$file, people, id = "id", label = c("sex", "age_class"), coordinates = c("lon", "lat"),
                     key = file.path(folder, "key.csv"), attack = "register")
  expect_gt(mean(found$matches$true), 0.9) # a kilometre hides nobody of forty people in Germany
  expect_type(found$matches$known_id, "character")
})

test_that("a look at the input runs nothing, and a mistake is told in the program's words", {
  needs_program()
  people <- dq_example(30)
  look <- dq_inspect(people, id = "id", label = "sex", coordinates = c("lon", "lat"))
  expect_match(paste(look$lines, collapse = " "), "30 records")
  expect_error(dq_inspect(people, id = "nobody", coordinates = c("lon", "lat")), "nobody")
})

test_that("no data stay in the folder of the session", {
  needs_program()
  people <- dq_example(30)
  before <- list.files(tempdir())
  dq_inspect(people, id = "id", coordinates = c("lon", "lat"))
  expect_equal(list.files(tempdir()), before)
})
