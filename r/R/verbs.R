# The verbs of the package: one for each command that people use, with its answer as a value of R.

dq_inspect <- function(data, ...) {
  done <- dq_command("audit", ..., dry_run = TRUE, yes = TRUE, out = tempfile("look"), .files = list(data))
  structure(list(lines = done$said), class = "dq_look")
}

dq_audit <- function(data, out, ..., open = FALSE) {
  done <- dq_command("audit", ..., yes = TRUE, out = path.expand(out), .files = list(data), .answers = ANSWERS)
  several <- file.path(out, "recipients.json") # one verdict for all recipients, and a folder for each of them
  result <- read_json(if (file.exists(several)) several else file.path(out, "result.json"))
  report <- file.path(out, "report.html")
  report <- if (file.exists(report)) normalizePath(report) else NA_character_
  if (open && !is.na(report)) browseURL(report)
  structure(
    list(
      status = result$verdict$status,
      setting = result$verdict$setting,
      text = result$verdict$text,
      risk = risk_of(result),
      attacks = read_table(file.path(out, "report_figures", "risk.csv")),
      records = read_table(file.path(out, "records.csv")),
      result = result,
      out = normalizePath(out),
      report = report,
      exit = done$status
    ),
    class = "dq_audit"
  )
}

dq_advise <- function(data, limit, out, ..., open = FALSE) {
  done <- dq_command("advise", limit = limit, ..., yes = TRUE, out = path.expand(out), .files = list(data),
                     .answers = ANSWERS)
  advice <- read_json(file.path(out, "advice.json"))
  page <- normalizePath(file.path(out, "advice.html"))
  if (open) browseURL(page)
  structure(
    list(status = advice$status, releases = releases_of(advice), advice = advice, out = normalizePath(out),
         page = page, exit = done$status),
    class = "dq_advice"
  )
}

# One row for each setting: what decides, by the oracle where it was asked, not what a single attack found. What was not
# measured stays missing.
risk_of <- function(result) {
  number <- function(value) if (is.null(value)) NA_real_ else as.numeric(value)
  flag <- function(value) if (is.null(value)) NA else as.logical(value)
  rows <- lapply(result$settings, function(one) {
    if (is.null(one$spec)) return(NULL) # the table of several recipients has other rows
    data.frame(setting = one$spec, risk = number(one$risk$value), high = number(one$risk$high),
               guess = number(one$guess), meets = flag(one$meets), open = flag(one$open))
  })
  do.call(rbind, rows)
}

# One row for each release that was audited, the best first.
releases_of <- function(advice) {
  rows <- lapply(advice$releases, function(one) {
    data.frame(setting = one$setting, usefulness = one$usefulness, status = one$status, risk = one$risk$value,
               high = one$risk$high, left_out = length(one$left_out))
  })
  empty <- data.frame(setting = character(), usefulness = numeric(), status = character(), risk = numeric(),
                      high = numeric(), left_out = integer())
  if (length(rows)) do.call(rbind, rows) else empty
}

dq_mask <- function(data, mask, out, ...) {
  done <- dq_command("mask", mask = mask, ..., out = path.expand(out), .files = list(data))
  list(table = read_table(out), file = normalizePath(out), said = done$said)
}

dq_attack <- function(target, known, ...) {
  json <- tempfile("attack", fileext = ".json")
  matches <- tempfile("matches", fileext = ".csv")
  on.exit(unlink(c(json, matches)), add = TRUE)
  dq_command("attack", ..., json = json, out = matches, quiet = TRUE, .files = list(target, known))
  list(matches = if (file.exists(matches)) read_table(matches), result = read_json(json))
}

dq_report <- function(result, out, ..., open = FALSE) {
  file <- if (inherits(result, "dq_audit")) file.path(result$out, "result.json") else result
  dq_command("report", ..., out = path.expand(out), .files = list(file))
  if (open) browseURL(normalizePath(out))
  normalizePath(out)
}

dq_example <- function(rows = 500) {
  file <- tempfile("survey", fileext = ".csv")
  on.exit(unlink(file), add = TRUE)
  dq_command("example", out = file, quiet = TRUE, .files = list("survey"))
  survey <- read_table(file)
  survey[seq_len(min(rows, nrow(survey))), ]
}

print.dq_audit <- function(x, ...) {
  cat("disclique audit: ", x$status, if (length(x$setting)) paste0(" (", x$setting, ")"), "\n", sep = "")
  cat(strwrap(x$text, width = 0.9 * getOption("width")), sep = "\n")
  cat("report: ", x$report, "\n", sep = "")
  invisible(x)
}

print.dq_advice <- function(x, ...) {
  cat("disclique advice: ", x$status, "\n", sep = "")
  if (nrow(x$releases)) print(x$releases, digits = 3)
  cat("page: ", x$page, "\n", sep = "")
  invisible(x)
}

print.dq_look <- function(x, ...) {
  cat(x$lines, sep = "\n")
  invisible(x)
}
