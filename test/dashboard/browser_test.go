package dashboard

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/farrier-dev/farrier/test/product"
)

func TestMain(m *testing.M) { product.Main(m) }

// chromium is where the browser is; a test is skipped where there is none.
func chromium(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("chromium")
	switch {
	case err == nil:
	case os.Getenv("FARRIER_TEST_NEEDS_BROWSER") != "":
		t.Fatalf("FARRIER_TEST_NEEDS_BROWSER is set: %v", err)
	default:
		t.Skipf("no browser: %v (Debian's package chromium)", err)
	}
	return path
}

// tab is a window that somebody looks at.
type tab struct {
	t    *testing.T
	ctx  context.Context //nolint:containedctx // chromedp has the window in it
	base string          // the URL of the operator address

	mu  sync.Mutex
	bad []string
}

// newTab opens a window in a browser of its own, in which nobody has signed in.
func newTab(t *testing.T, base string) *tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("ignore-certificate-errors", true), chromedp.Flag("disable-dev-shm-usage", true), chromedp.WSURLReadTimeout(product.Patience))
	allocated, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(allocated)
	w := &tab{t: t, ctx: ctx, base: strings.TrimRight(base, "/")}
	chromedp.ListenTarget(ctx, w.hear)
	if err := chromedp.Run(ctx, chromedp.EmulateViewport(1280, 900)); err != nil {
		stop()
		t.Fatalf("start the browser: %v", err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the page %s:\n%s", w.text("location.href"), w.text("document.body.innerText"))
		}
		end()
		stop()
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, text := range w.bad {
			t.Error(text)
		}
	})
	return w
}

// hear remembers what no page may do.
func (w *tab) hear(event any) {
	text := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		text = "the page throws: " + e.ExceptionDetails.Error()
	case *log.EventEntryAdded:
		if e.Entry.Source == log.SourceSecurity {
			text = "the browser refuses: " + e.Entry.Text
		}
	case *cdppage.EventJavascriptDialogOpening:
		text = "the page opens a dialog: " + e.Message
	}
	if text != "" {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.bad = append(w.bad, text)
	}
}

// try does something in the window.
func (w *tab) try(actions ...chromedp.Action) error {
	ctx, end := context.WithTimeout(w.ctx, product.Patience)
	defer end()
	return chromedp.Run(ctx, actions...)
}

func (w *tab) do(actions ...chromedp.Action) {
	w.t.Helper()
	if err := w.try(actions...); err != nil {
		w.t.Fatal(err)
	}
}

// open goes to a page.
func (w *tab) open(path string) {
	w.t.Helper()
	w.do(chromedp.Navigate(w.base + path))
}

// text is the value of an expression, for people.
func (w *tab) text(expression string) string {
	var text string
	if err := w.try(chromedp.Evaluate("String("+expression+")", &text)); err != nil {
		return err.Error()
	}
	return text
}

// until waits until an expression is true on the page. chromedp.Poll would need eval, which the pages forbid.
func (w *tab) until(expression string) {
	w.t.Helper()
	product.Eventually(w.t, expression, func(context.Context) error {
		var is bool
		if err := w.try(chromedp.Evaluate("Boolean("+expression+")", &is)); err != nil {
			return err
		}
		if !is {
			return fmt.Errorf("it is not so on %s", w.text("location.href"))
		}
		return nil
	})
}

// says waits until the page shows a text.
func (w *tab) says(text string) {
	w.t.Helper()
	w.until("document.body.innerText.includes(" + strconv.Quote(text) + ")")
}

// press clicks where an element is, once it has been there twice in a row: pages replace their elements while they live, and move them
// while they are laid out.
func (w *tab) press(selector string) {
	w.t.Helper()
	element := "document.querySelector(" + strconv.Quote(selector) + ")"
	w.until(element)
	var at, before []float64
	product.Eventually(w.t, selector+" can be pressed", func(context.Context) error {
		before, at = at, nil
		err := w.try(chromedp.Evaluate("(() => { const e = "+element+"; if (!e) return []; e.scrollIntoView({block: 'center', behavior: 'instant'}); const r = e.getBoundingClientRect(); "+
			"const x = r.x + r.width / 2, y = r.y + r.height / 2; return e.contains(document.elementFromPoint(x, y)) ? [x, y] : []; })()", &at))
		if err == nil && (len(at) == 0 || !slices.Equal(at, before)) {
			err = fmt.Errorf("it moves, or something is in front of it, on %s", w.text("location.href"))
		}
		return err
	})
	w.do(chromedp.MouseClickXY(at[0], at[1]))
}

// unfold opens what is folded. A page that is still being laid out moves what is pressed, and then another place is.
func (w *tab) unfold(selector string) {
	w.t.Helper()
	w.pressUntil(selector+":not([open]) > summary", "document.querySelector("+strconv.Quote(selector+"[open]")+")")
}

// fill types into a field.
func (w *tab) fill(selector, text string) {
	w.t.Helper()
	w.pressUntil(selector, "document.activeElement.matches("+strconv.Quote(selector)+")")
	w.do(input.InsertText(text))
}

// pressUntil presses something until an expression is true; pressing it twice must do no harm.
func (w *tab) pressUntil(selector, expression string) {
	w.t.Helper()
	product.Eventually(w.t, expression, func(context.Context) error {
		if w.text("Boolean("+expression+")") == "true" {
			return nil
		}
		if w.text("Boolean(document.querySelector("+strconv.Quote(selector)+"))") != "true" {
			return fmt.Errorf("there is no %s on %s", selector, w.text("location.href"))
		}
		w.press(selector)
		if w.text("Boolean("+expression+")") != "true" {
			return fmt.Errorf("%s was pressed on %s, and that is not so", selector, w.text("location.href"))
		}
		return nil
	})
}

// types types key by key, into what has the focus. chromedp.KeyEvent would send the character even where the page has taken its key.
func (w *tab) types(text string) {
	w.t.Helper()
	for _, r := range text {
		keys := kb.Encode(r)
		down, up := *keys[0], *keys[len(keys)-1]
		if len(keys) > 2 {
			down.Text, down.UnmodifiedText = keys[1].Text, keys[1].UnmodifiedText
		}
		w.do(&down, &up)
	}
}

// signIn signs in with a token, by the form.
func (w *tab) signIn(token string) {
	w.t.Helper()
	w.open("/dashboard/signin")
	w.fill("#token", token)
	w.press("form[action='/dashboard/signin'] button")
	w.until("document.querySelector('.person')")
}
