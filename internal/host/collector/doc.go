// Package collector decides how often a process collects its garbage. There is one rule for all: garbage may be half of what is live, and always 64 MiB. A
// process that is busy, which is one that collected less than ten seconds ago, may have a larger Share of what is live beyond 96 MiB: that saves
// processor time when it is needed. Ten seconds later it gives the memory back.
//
//	live        garbage when quiet    when busy, at a share of 300 %
//	 90 MiB                 64 MiB                            64 MiB
//	400 MiB                200 MiB                           976 MiB
//
// Go itself knows one percentage, which would be either much memory for nothing, or collections without end where much is written. The rule is
// applied at the end of each collection, when what is live is known anew; between collections nothing runs.
//
//	collector.go  the settings of a process
//	rule.go       the rule
package collector
