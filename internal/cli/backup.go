package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/farrier-dev/farrier/internal/backup"
	"github.com/farrier-dev/farrier/internal/program/usage"
	"github.com/farrier-dev/farrier/internal/standalone"
)

func dataDirFlag(f *pflag.FlagSet, dataDir *string) {
	f.StringVar(dataDir, "data-dir", standalone.DefaultOptions().DataDir, "data directory of 'farrier up'")
}

func newBackup() *cobra.Command {
	var dataDir, passphraseFile string
	var recipients []string
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write the data of 'farrier up' into one file",
		Long: `Writes the data of 'farrier up', running or not, into one file: a consistent snapshot of all objects, and the keys, certificates and leases
in the data directory. The file contains every secret: encrypt it with --recipient or --passphrase-file. The user who runs 'farrier up' can
make backups. FILE must not exist.`,
		Example: `  farrier backup --data-dir /var/lib/farrier --recipient age1... /backup/farrier-monday
  farrier restore --check --identity-file key.txt /backup/farrier-monday`,
		Args: usage.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			to, err := backup.Recipients(recipients, passphraseFile)
			if err != nil {
				return err
			}
			if err := standalone.Backup(cmd.Context(), dataDir, args[0], to, time.Now()); err != nil {
				return err
			}
			if len(to) == 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "%s contains every secret and is not encrypted: --recipient and --passphrase-file encrypt it\n", args[0])
			}
			return nil
		},
	}
	cmd.Flags().SortFlags = false
	dataDirFlag(cmd.Flags(), &dataDir)
	cmd.Flags().StringArrayVar(&recipients, "recipient", nil, "public `key` of age (age1...) that the file is encrypted for; can be repeated")
	cmd.Flags().StringVar(&passphraseFile, "passphrase-file", "", "file with the passphrase that the file is encrypted with")
	return cmd
}

func newRestore() *cobra.Command {
	var dataDir, identityFile, passphraseFile string
	var check, park bool
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Make a data directory from a backup",
		Long: `Makes the data directory of a 'farrier up' from a file of 'farrier backup'. The directory must be empty or missing; if the restore fails, it is
as it was. End the former 'farrier up' for good before you start the restored one: two of them give contradicting orders to the same BMCs.

What happened after the backup is unknown: a server that was free then may run for somebody now. So the first start parks all servers, and Farrier
touches no machine until you unpark its server.`,
		Example: `  farrier restore --identity-file key.txt --data-dir /var/lib/farrier /backup/farrier-monday`,
		Args:    usage.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			identities, err := backup.Identities(identityFile, passphraseFile)
			if err != nil {
				return err
			}
			var header backup.Header
			what := "complete"
			if check {
				header, err = standalone.CheckBackup(args[0], identities)
			} else {
				header, err = standalone.Restore(args[0], identities, dataDir, park)
				what = "restored to " + dataDir
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "backup of %s by farrier %s: %s\n", header.Time.Format(time.RFC3339), header.Farrier, what)
			return err
		},
	}
	cmd.Flags().SortFlags = false
	dataDirFlag(cmd.Flags(), &dataDir)
	cmd.Flags().BoolVar(&check, "check", false, "only read the file and say whether it is complete")
	cmd.Flags().BoolVar(&park, "park", true, "park all servers at the first start")
	cmd.Flags().StringVar(&identityFile, "identity-file", "", "file with the private key of age that the file is encrypted for")
	cmd.Flags().StringVar(&passphraseFile, "passphrase-file", "", "file with the passphrase that the file is encrypted with")
	return cmd
}

func newReset() *cobra.Command {
	var dataDir string
	var yes bool
	cmd := &cobra.Command{
		Use:   "reset",
		Short: "Delete the data of a stopped 'farrier up'",
		Long: `Deletes everything in the data directory of a 'farrier up' that does not run: objects, keys, certificates, caches, logs. Lists it first and asks.
Machines stay as they are: what runs, runs on.`,
		Args: usage.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			err := standalone.Reset(dataDir, func(found []standalone.Found) (bool, error) {
				for _, f := range found {
					fmt.Fprintf(out, "%8d KiB  %s\n", (f.Bytes+1023)>>10, f.Path)
				}
				if yes {
					return true, nil
				}
				fmt.Fprint(out, "Delete all of this? Type yes: ")
				var answer string
				_, _ = fmt.Fscanln(cmd.InOrStdin(), &answer) // no answer is no
				if !strings.EqualFold(answer, "yes") {
					return false, errors.New("nothing was deleted")
				}
				return true, nil
			})
			if err == nil {
				_, err = fmt.Fprintf(out, "deleted: %s is empty\n", dataDir)
			}
			return err
		},
	}
	cmd.Flags().SortFlags = false
	dataDirFlag(cmd.Flags(), &dataDir)
	cmd.Flags().BoolVar(&yes, "yes", false, "delete without asking")
	return cmd
}
