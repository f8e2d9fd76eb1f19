// Package charttest renders charts/farrier as Helm does and holds the objects to what the rest of the repository says: roles, definitions and
// webhooks are those of config/, flags are those of the built manager (FARRIER_TEST_MANAGER), every object decodes strictly into its type, and
// values that cannot work are refused by name before anything is applied.
package charttest
