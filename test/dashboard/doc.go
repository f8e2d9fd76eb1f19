// Package dashboard uses the dashboard of the built program as people do: in Chromium, on the pages of a simulated rack. Without a browser its
// tests are skipped, unless FARRIER_TEST_NEEDS_BROWSER is set. No page may throw, break its Content-Security-Policy or open a dialog.
package dashboard
