# The one place where the program is started: arguments from R's names, files from data frames, errors from its words.

# What the program ends with. 0, 3 and 4 are answers; everything else is an error.
ANSWERS <- c(meets = 0L, open = 3L, fails = 4L)

# Options whose columns stand in one argument, separated by commas; others are repeated.
JOINED <- c("coordinates", "target_coordinates", "known_coordinates", "text")

dq_program <- function() {
  given <- Sys.getenv("DISCLIQUE", getOption("disclique.program", "disclique"))
  found <- Sys.which(given)
  if (nzchar(found)) unname(found) else ""
}

dq_available <- function() {
  program <- dq_program()
  nzchar(program) && start(program, "--version")$status == 0L
}

dq_command <- function(command, ..., .files = list(), .answers = 0L) {
  program <- dq_program()
  if (!nzchar(program)) {
    stop("there is no program 'disclique' on the path: install it (pip install disclique), or say where it is with ",
         "options(disclique.program = ...) or the environment variable DISCLIQUE", call. = FALSE)
  }
  files <- lapply(.files, as_file)
  on.exit(unlink(unlist(lapply(files, function(file) file$made))), add = TRUE) # personal data do not stay behind
  given <- list(...)
  names(given) <- if (is.null(names(given))) rep("", length(given)) else names(given)
  paths <- vapply(files, function(file) file$path, character(1))
  done <- start(program, c(command, paths, as_arguments(given)))
  if (!done$status %in% .answers) {
    said <- if (length(done$said)) done$said else done$out
    stop("disclique ", command, " ended with status ", done$status, ":\n", paste(tail(said, 20), collapse = "\n"),
         call. = FALSE)
  }
  done
}

# Run a program and return its status and what it wrote.
start <- function(program, arguments) {
  out <- tempfile("out")
  said <- tempfile("said")
  on.exit(unlink(c(out, said)), add = TRUE)
  unix <- .Platform$OS.type == "unix"
  # R's own libraries are not those of Python. The words are UTF-8 whatever the locale is.
  environment <- if (unix) c("LD_LIBRARY_PATH=", "PYTHONUTF8=1", "NO_COLOR=1") else character()
  quoted <- shQuote(enc2utf8(arguments), type = if (unix) "sh" else "cmd")
  status <- suppressWarnings(system2(program, quoted, stdout = out, stderr = said, env = environment))
  list(status = as.integer(status), out = lines_of(out), said = lines_of(said))
}

lines_of <- function(file) {
  if (file.exists(file)) readLines(file, encoding = "UTF-8", warn = FALSE) else character()
}

# list(max_risk = 0.3, label = c("sex", "age")) as --max-risk 0.3 --label sex --label age
as_arguments <- function(given) {
  unnamed <- names(given) == ""
  if (any(unnamed)) stop("every option needs a name, such as max_risk = 0.3", call. = FALSE)
  unlist(Map(one_option, names(given), given), use.names = FALSE)
}

one_option <- function(name, value) {
  if (is.null(value)) return(character())
  option <- paste0("--", gsub("_", "-", sub("_$", "", name), fixed = TRUE))
  if (is.logical(value)) {
    if (length(value) != 1L || is.na(value)) stop(option, " is TRUE or FALSE", call. = FALSE)
    return(if (value) option else sub("^--", "--no-", option))
  }
  if (anyNA(value)) stop(option, " has a missing value", call. = FALSE)
  words <- if (is.numeric(value)) format_number(value) else as.character(value)
  if (name %in% JOINED) words <- paste(words, collapse = ",")
  as.vector(rbind(option, words))
}

# 15 digits: what a double keeps of a decimal number; never 1e+05, which no person writes.
format_number <- function(value) {
  vapply(value, function(one) format(one, digits = 15, scientific = FALSE, trim = TRUE), character(1))
}

# A path as it is; a data frame in a file of the session's own folder, which nobody else can read.
as_file <- function(data) {
  if (is.character(data) && length(data) == 1L) return(list(path = path.expand(data), made = character()))
  if (inherits(data, "sf")) {
    stop("write an sf object with sf::st_write(x, \"people.gpkg\") and give that file: its reference system goes along",
         call. = FALSE)
  }
  if (!is.data.frame(data)) stop("data is a data frame or the path of a file", call. = FALSE)
  path <- tempfile("data", fileext = if (has_arrow()) ".parquet" else ".csv")
  plain <- as.data.frame(lapply(data, as_column), optional = TRUE, stringsAsFactors = FALSE)
  names(plain) <- names(data)
  if (has_arrow()) arrow::write_parquet(plain, path) else write.csv(plain, path, row.names = FALSE, na = "", fileEncoding = "UTF-8")
  list(path = path, made = path)
}

as_column <- function(column) {
  if (is.list(column)) stop("a column is a list; give plain columns", call. = FALSE)
  if (is.factor(column) || inherits(column, c("Date", "POSIXt"))) as.character(column) else column
}

has_arrow <- function() requireNamespace("arrow", quietly = TRUE)

# A table that the program wrote, or NULL if there is none or nothing here can read it. Only columns of numbers become
# numbers: R's own reading would make the id 007 a 7 and a column of F for female a column of FALSE.
read_table <- function(path) {
  if (!file.exists(path)) return(NULL)
  ending <- tolower(sub(".*[.]", "", path))
  if (ending == "parquet" && has_arrow()) return(as.data.frame(arrow::read_parquet(path)))
  read <- switch(ending, csv = read.csv, tsv = read.delim)
  if (is.null(read)) return(NULL)
  table <- read(path, check.names = FALSE, encoding = "UTF-8", colClasses = "character", na.strings = "")
  named <- names(table) %in% c("id", "target_id", "known_id")
  table[!named] <- lapply(table[!named], as_number)
  table
}

as_number <- function(words) {
  there <- !is.na(words)
  if (!any(there)) return(words)
  if (all(words[there] %in% c("True", "False"))) return(words == "True")
  if (any(grepl("^[+-]?0[0-9]", words[there]))) return(words) # codes, not numbers
  numbers <- suppressWarnings(as.numeric(words))
  if (anyNA(numbers[there])) words else numbers
}

read_json <- function(path) jsonlite::fromJSON(path, simplifyVector = TRUE, simplifyDataFrame = FALSE)
