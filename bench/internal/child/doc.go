// Package child runs parts of a benchmark as processes of their own, so that
// neither their garbage nor their processor time is taken for another part's.
//
// A child is the same executable with its role in the environment. It reads one JSON
// request a line from standard input and answers each with one JSON line on standard output;
// it ends when its input does.
package child
