# Where DISCLIQUE names a program it has to work; where nothing is named and nothing found, tests that need it are skipped.
needs_program <- function() {
  skip_if(!nzchar(Sys.getenv("DISCLIQUE")) && !dq_available(), "the program disclique is not installed")
}

audit_of <- function(people, out = tempfile("audit"), ...) {
  dq_audit(people, out, id = "id", label = c("sex", "age_class"), coordinates = c("lon", "lat"), attack = "labels",
           repetitions = 2, person_trials = 10, sensitivity = FALSE, processes = 1, ...)
}
