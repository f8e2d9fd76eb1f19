// Package seed gives tests the seed of their random choices: another one each time, unless FARRIER_TEST_SEED repeats a run.
package seed
