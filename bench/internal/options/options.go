package options

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
)

// Out binds -out, the file for the result of the benchmark of that name.
func Out(file *string, name string) {
	flag.StringVar(file, "out", "bench/results/"+name+".json", "file for the result; empty: none")
}

// Smoke binds -smoke.
func Smoke() *bool {
	return flag.Bool("smoke", false, "a small and short run that shows only that it works; writes no file")
}

// Sizes reads the value of -servers: numbers of servers with commas between them, each at least least.
func Sizes(text string, least int) (sizes []int, err error) {
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < least {
			return nil, fmt.Errorf("-servers: %q is no number of servers of at least %d", word, least)
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}
