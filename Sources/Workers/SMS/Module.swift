/// The SMS worker: its providers, its texts, its classification.
