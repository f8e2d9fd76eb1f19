// Package collector decides how often a process collects its garbage. There is one rule for all: garbage may be a third of what is live, and always 64 MiB. A process
// that is busy may have a larger Share of what is live beyond 96 MiB, as long as both together are at most half of the memory that it may use: that
// saves processor time when it is needed. When it is quiet, it gives the memory back.
//
//	live        garbage when quiet    when busy, at a share of 300 %
//	 90 MiB                 64 MiB                            64 MiB
//	400 MiB                133 MiB                           976 MiB
//	  4 GiB                1.3 GiB     12 GiB, of 24 GiB of memory 8
//
// A process is busy if with the smaller share it would be collected again within ten seconds, or within twenty for each GiB that is live: a large heap takes
// that much longer to collect. What it allocates tells, for with the larger share it is collected seldom, however busy it is.
//
// Go itself knows one percentage, which would be either much memory for nothing, or collections without end where much is written. The rule is
// applied at the end of each collection, when what is live is known anew, and in a busy process once more when it may have become quiet.
//
//	collector.go  the settings of a process
//	rule.go       the rule
package collector
