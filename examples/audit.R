# Audit a file from R: the file goes out as CSV, the command line does the work, figures come back as CSV.
# Base R only. Run it with:  Rscript examples/audit.R [FOLDER]
# The program is looked for on the path; say where it is with the environment variable DISCLIQUE.

program <- Sys.getenv("DISCLIQUE", "disclique")
folder <- commandArgs(trailingOnly = TRUE)
folder <- if (length(folder)) folder[1] else tempfile("audit")
dir.create(folder, showWarnings = FALSE, recursive = TRUE)

# Your own data frame; here some invented people around Bonn and Cologne.
set.seed(1)
people <- data.frame(
  id = sprintf("p%03d", 1:120),
  sex = sample(c("f", "m"), 120, replace = TRUE),
  age_class = sample(c("18-29", "30-44", "45-64", "65+"), 120, replace = TRUE),
  lon = rnorm(120, 7.0, 0.15),
  lat = rnorm(120, 50.8, 0.10)
)
file <- file.path(folder, "people.csv")
write.csv(people, file, row.names = FALSE) # without row names: a column too many would be one more column

Sys.setenv(LD_LIBRARY_PATH = "") # R's own would let Python load libraries that are not its own
result <- file.path(folder, "audit")
status <- system2(program, shQuote(c(
  "audit", file, "--id", "id", "--label", "sex", "--label", "age_class", "--coordinates", "lon,lat",
  "--mask", "gaussian:sigma=500m", "--mask", "gaussian:sigma=20km", "--attack", "labels", "--attack", "register",
  "--overlap", "0.5", "--max-risk", "0.3", "--repetitions", "2", "--person-trials", "50", "--yes", "--quiet", "--out",
  result
)))
# 0: a release keeps the limit; 3: it is not shown; 4: none tried keeps it; 2: bad input
message("exit status: ", status)
if (!status %in% c(0, 3, 4)) stop("the audit was not carried out")

risk <- read.csv(file.path(result, "report_figures", "risk.csv"))
print(risk)
message("report: ", normalizePath(file.path(result, "report.html")))
