// Package admissiontest holds the rules of package admission to one table, and to one story of label keys, wherever they run: alone, in a plugin
// of an API server, behind a webhook.
//
// Cases is the table. Run tries it on a Shell; NewAPI makes one of a running API server that has one of the shells of the product.
package admissiontest
