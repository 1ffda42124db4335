*! disclique 0.2.0: audit what published distances disclose, from Stata
*! Calls the program disclique (pip install "disclique[stat]") on the data in memory.
*! Written by Stata's manual and not run: Stata was not at hand.
program define disclique, rclass
    version 14
    * disclique audit using FOLDER, options("--id id --label sex --coordinates lon,lat --mask gaussian:sigma=5km")
    gettoken command 0 : 0
    if !inlist("`command'", "audit", "advise", "mask") {
        display as error "disclique audit, advise or mask"
        exit 198
    }
    syntax using/ , Options(string) [Program(string) CLEAR]
    if "`program'" == "" local program "disclique"

    * The data go out as a file of Stata: value labels are read as words.
    tempfile people log code
    quietly save "`people'.dta"
    local yes = cond("`command'" == "mask", "", "--yes")
    * The shell of Stata does not tell how a program ended, so the program's last word is a number in a file. quietly:
    * what the program says goes to a file and from there to the window.
    if "`c(os)'" == "Windows" {
        shell "`program'" `command' "`people'.dta" `options' `yes' --out "`using'" > "`log'" 2>&1 & call echo %^errorlevel% > "`code'"
    }
    else {
        shell "`program'" `command' "`people'.dta" `options' `yes' --out "`using'" > "`log'" 2>&1; echo $? > "`code'"
    }
    erase "`people'.dta"
    type "`log'"

    tempname handle
    file open `handle' using "`code'", read text
    file read `handle' line
    file close `handle'
    local status = real(strtrim("`line'"))
    return scalar status = `status'
    * 0: the limit is kept; 3: that is not shown; 4: it is broken. Everything else is an error.
    if !inlist(`status', 0, 3, 4) {
        display as error "disclique ended with status `status'"
        exit 459
    }
    return local folder "`using'"
    if "`command'" == "audit" {
        return local report "`using'/report.html"
        if "`clear'" != "" {
            * A row for each setting and attack: setting_risk and setting_high decide, not what one attack found.
            import delimited "`using'/report_figures/risk.csv", clear varnames(1) case(preserve)
        }
    }
end
