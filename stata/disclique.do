* From a file of Stata to a decision. Written by Stata's manual and not run: Stata was not at hand.
* Put disclique.ado beside this file or into the folder that `sysdir` calls PERSONAL.
use survey.dta, clear
disclique audit using "audit", options("--id id --label sex --label age_class --coordinates lon,lat --mask gaussian:sigma=20km --max-risk 0.3")
display r(status)
* 0: a release keeps the limit; 3: that is not shown; 4: none tried keeps it
view browse "`r(report)'"
