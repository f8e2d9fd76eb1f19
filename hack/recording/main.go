package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "recording:", err)
		os.Exit(1)
	}
}

func run() error {
	var out, title string
	columns, rows, pace := 80, 24, 400*time.Millisecond
	flag.StringVar(&out, "out", "", "file to write")
	flag.StringVar(&title, "title", "", "what a screen reader says of the picture")
	flag.IntVar(&columns, "columns", columns, "width of the terminal")
	flag.IntVar(&rows, "rows", rows, "height of the terminal")
	flag.DurationVar(&pace, "pace", pace, "time between two frames")
	flag.Parse()
	if out == "" || flag.NArg() == 0 {
		return fmt.Errorf("usage: recording -out FILE COMMAND [ARGUMENT]...")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	frames, err := record(ctx, columns, rows, pace, flag.Args())
	if err != nil {
		return err
	}
	return os.WriteFile(out, picture(title, columns, frames), 0o644)
}
