internal import CountersignMessages
internal import ServiceRuntime

/// The command line of `countersign`.
enum CountersignSyntax {
  static let all = CommandSyntax(
    "countersign", "Verifies phone numbers and apps, revokes tokens, and looks after the queues that do it.",
    discussion: """
      Where the broker is, and as whom to go there, is taken from the options, else from the environment, else from the
      configuration file. Where neither options nor environment name an installation, .run/stack.env of the development
      stack takes the place of all three:
        COUNTERSIGN_AMQP_URL           verify, app, enqueue, …   amqp://sender:PASSWORD@HOST:PORT/VHOST
        COUNTERSIGN_OPERATOR_AMQP_URL  dead, conversion, …       amqp://operator:PASSWORD@HOST:PORT/VHOST
        COUNTERSIGN_MANAGEMENT_URL     topology, doctor          https://operator:PASSWORD@HOST:PORT

      Exit codes:
        0   done
        1   carried out, and the answer is no: a wrong code, a refused number or message, a difference, a finding
        64  the arguments are wrong              65  the input is wrong
        66  a file cannot be read                69  something that is needed does not answer: try again
        70  a fault of the program               77  the user may not do it
        78  a setting is missing or wrong
      """,
    options: [
      .flag("json", "Print JSON, for programs."),
      .value("config", "FILE", "The configuration file: Config/countersign.json5 unless given."),
      .value("broker", "URL", "The broker, instead of the environment's. A password in it shows in the process list."),
      .value("management", "URL", "The broker's management API, instead of the environment's."),
      .value("timeout", "TIME", "How long to wait for an answer: 10s unless given."),
    ],
    subcommands: [
      verify, app, revoke, operation, conversion, forget, enqueue, mail, topology, dead, keys, doctor, templates, sms,
      bench,
      version,
    ])

  private static let verify = CommandSyntax(
    "verify", "Verifies a phone number through the coordinator.",
    subcommands: [
      CommandSyntax(
        "start", "Starts a verification: an SMS with a code is sent.",
        options: [
          .value("app", "APP", "The app: com.example.app unless given."),
          .value("language", "CODE", "The language of the SMS, BCP 47: pt-BR."),
          .value("region", "CODE", "The region of a number in national form: US."),
          .value("ip", "ADDRESS", "The address of the client, for its limits."),
        ] + proofOptions,
        operands: [.required("NUMBER", "The phone number, E.164, or national with --region.")]),
      CommandSyntax(
        "check", "Checks the code that was sent.",
        operands: [.required("ID", "The verification ID."), .required("CODE", "The code.")]),
      CommandSyntax(
        "status", "Shows what has happened to a verification, in every process.",
        operands: [.required("ID", "The verification ID.")]),
      CommandSyntax("cancel", "Ends a verification.", operands: [.required("ID", "The verification ID.")]),
    ])

  private static let enqueue = CommandSyntax(
    "enqueue", "Gives a job to its worker and waits for the result.",
    discussion: """
      Example:
        echo '{"to": "+14155550123", "text": "Hello"}' | countersign enqueue sms.dispatch --deadline 2m
      """,
    options: [
      .value("file", "FILE", "The body of the job, JSON; - is standard input, which it is unless given."),
      .value("deadline", "TIME", "Puts this deadline, from now, into a body that has none: 5m unless given."),
      .value("id", "ID", "The message ID. The same ID twice has one effect, and the same result."),
      .flag("bulk", "An SMS that can wait: it goes to the queue sms.bulk and holds up no code."),
    ],
    operands: [.required("TYPE", "The type of the job: \(KnownJob.names).")])

  private static let mail = CommandSyntax(
    "mail", "Sends mail, shows what a mail looks like, and looks after the addresses that nothing is sent to.",
    options: [
      .value("worker-config", "FILE", "The mail-worker's configuration: mail-worker.json5 in config.dir unless given.")
    ],
    subcommands: [
      CommandSyntax(
        "send", "Gives a mail to the mail-worker and waits for the result.",
        discussion: """
          Example:
            countersign mail send ada@example.com --template address-verification --language fr --code 123456
          """,
        options: mailContent + [.value("deadline", "TIME", "Not sent after this time, from now: 10m unless given.")],
        operands: [.required("ADDRESS", "The recipient.")]),
      CommandSyntax(
        "preview", "Writes a mail as the mail-worker would send it, signed, without sending it.",
        options: mailContent + [.value("output", "FILE", "Where to, for a mail client: standard output unless given.")],
        operands: [.required("ADDRESS", "The recipient.")]),
      CommandSyntax(
        "suppressions", "The addresses that nothing is sent to, because a server said that nobody is there.",
        subcommands: [
          CommandSyntax(
            "list", "Lists them, the latest first.",
            options: [.value("limit", "NUMBER", "Most addresses to show: 50 unless given.")]),
          CommandSyntax(
            "lift", "Takes an address off the list.", operands: [.required("ADDRESS", "The address.")]),
        ]),
    ])

  private static let mailContent: [CommandOption] = [
    .value("from", "ADDRESS", "One of the mail-worker's senders: its first one unless given."),
    .value("template", "NAME", "A template: address-verification, revocation-notice, security-notice, sign-in-link."),
    .value("language", "CODE", "BCP 47, with --template."),
    .value("code", "CODE", "Of the template; it shows in the process list."),
    .value("link", "URL", "Of the template; it shows in the process list."),
    .value("app-name", "NAME", "Of the template."),
    .value("change", "TEXT", "Of the template security-notice: what has happened."),
    .value("subject", "TEXT", "In place of --template, with --text-file."),
    .value("text-file", "FILE", "The text, UTF-8."),
    .value("html-file", "FILE", "The same as HTML."),
    .value("unsubscribe", "URL", "Ends the reader's subscription by one click."),
    .value("id", "ID", "The message ID. The same ID twice has one effect, and the same result."),
  ]

  private static let dead = CommandSyntax(
    "dead", "Looks after messages that could not be processed.",
    options: [
      .value(
        "queue", "QUEUE",
        "The work queue they failed on; unless given, list and show look at all, redrive and drop at \(SMSDispatchJob.routingKey)."
      ),
      .value("id", "ID", "Only the letter with this ID, as the list shows it; may be repeated."),
      .value("reason", "REASON", "Only those with this reason."),
      .value("type", "TYPE", "Only those of this message type."),
      .value("older-than", "TIME", "Only those that died longer ago than this: 30m, 2h, 7d."),
    ],
    subcommands: [
      CommandSyntax(
        "list", "Lists them.", options: [.value("limit", "NUMBER", "Most letters to show: 50 unless given.")]),
      CommandSyntax(
        "show", "Shows one whole; what may be a secret or a person's data is covered.",
        options: [.flag("reveal", "Cover nothing.")],
        operands: [.required("ID", "The ID, as the list shows it.")]),
      CommandSyntax(
        "redrive",
        "Puts them back into their work queue, under the same message ID; as the broker's user operator, and no other.",
        options: [
          .value("limit", "NUMBER", "Most letters to redrive: all that match, unless given."),
          .value("rate", "NUMBER", "Most letters a second: 50 unless given."),
          .flag("dry-run", "Only show which."),
        ]),
      CommandSyntax(
        "drop", "Removes them for good.",
        options: [
          .value("limit", "NUMBER", "Most letters to remove: all that match, unless given."),
          .flag("yes", "Do it. Without, only those that would go are shown."),
        ]),
    ])

  private static let keys = CommandSyntax(
    "keys", "Looks after the keys that seal codes inside messages.",
    subcommands: [
      CommandSyntax(
        "generate", "Prints a JWK set with a new key.",
        discussion: """
          To rotate: generate --rotate OLD.json > NEW.json, give NEW.json to every process that opens, then to the
          coordinator, which seals with the first key; when no old message is left, take the old keys out.
          """,
        options: [
          .value("id", "KID", "The new key's ID: the date and time unless given."),
          .value("rotate", "FILE", "A JWK set: the new key is put before its keys."),
        ])
    ])

  private static let doctor = CommandSyntax(
    "doctor", "Checks broker, rights, topology, processes, files and providers, and says what to mend.",
    options: [
      .value("config-dir", "DIRECTORY", "Where the configuration files of the processes are."),
      .value("worker-config", "FILE", "The mail-worker's configuration, for doctor mail."),
    ],
    operands: [.optional("mail", "Looks at the senders of mail instead: SPF, DKIM and DMARC in DNS, mail servers.")])

  private static let templates = CommandSyntax(
    "templates", "Looks after the texts of verification messages.",
    subcommands: [
      CommandSyntax(
        "check", "Says what is wrong with them. Exit code 1 when something is.",
        discussion: """
          A variable that is missing, a text that takes a second segment, a name whose direction would leak, and what looks like
          phishing: links, domains, other numbers, words in letters of several scripts.
          """,
        options: [
          .value("app-name", "NAME", "The name that they have to fit with: 'Example App' unless given."),
          .value("domain", "DOMAIN", "The domain that they have to fit with: example.com unless given."),
          .value("language", "CODE", "The default language, which has to be there: en unless given."),
        ],
        operands: [.optional("DIRECTORY", "Where the <language>.json are: Config/templates/sms unless given.")])
    ])

  private static let sms = CommandSyntax(
    "sms", "Looks at texts of short messages.",
    subcommands: [
      CommandSyntax(
        "preview", "Shows encoding, segments and cost class of a text, or of a template in a language.",
        discussion: """
          The cost class is single for one segment; avoidable for several, of which one at least would be spared by a setting of
          the lane; several otherwise. Each segment is billed.
          """,
        options: [
          .value("template", "NAME", "A template in place of TEXT: verification."),
          .value("language", "CODE", "Its language, BCP 47: the default language unless given."),
          .value("templates", "DIRECTORY", "Where the <language>.json are: Config/templates/sms unless given."),
          .value("code", "CODE", "The code in it: 482913 unless given."),
          .value("app-name", "NAME", "The name in it: 'Example App' unless given."),
          .value("domain", "DOMAIN", "The domain of its last line, for iPhones."),
          .value("android-hash", "HASH", "The hash of its last line, for an Android app."),
          .value("transliteration", "FILE", "The characters that may be replaced: Config/transliteration.json5."),
        ],
        operands: [.optional("TEXT", "The text: standard input unless given.")])
    ])

  private static let bench = CommandSyntax(
    "bench", "Measures broker, workers and coordinator. deploy/bench does all of it on a stack of its own.",
    options: [.value("count", "NUMBER", "How many messages, jobs or verifications.")],
    subcommands: [
      CommandSyntax("broker", "The broker alone: publish, relay and consume on quorum queues."),
      CommandSyntax(
        "fill", "Puts jobs into the queue of a worker. They are real jobs: only for a stack of simulators.",
        options: [
          .value("type", "TYPE", "Which jobs: sms.dispatch unless given, push.verify, apple.revoke or mail.relay."),
          .value("keys", "FILE", "The JWK set to seal the secrets with."),
        ]),
      CommandSyntax(
        "drain", "Waits until so many results are in the coordinator's queue, and says how fast they came.",
        options: [.value("before", "NUMBER", "Results that were in it before the jobs: none unless given.")]),
      CommandSyntax(
        "verifications", "Verifies numbers, and plays the provider that the workers' lane has to point to.",
        options: [
          .value("provider-port", "PORT", "Where the workers send their requests, on 127.0.0.1: 5709 unless given."),
          .value("under-way", "NUMBER", "Verifications under way at once: 1024 unless given."),
          .value("rate", "NUMBER", "Start so many a second, however long they take."),
          .value("first", "NUMBER", "Where in the list of numbers to begin, so that a run does not repeat another's."),
          .value("app", "APP", "An app whose callers are trusted: com.example.app unless given."),
        ]),
      CommandSyntax(
        "proofs", "Proves apps by push, and plays the devices. A front with TLS and HTTP/2 has to pass the pushes on.",
        options: [
          .value("provider-port", "PORT", "Where the front passes them to, on 127.0.0.1: 5709 unless given."),
          .value("under-way", "NUMBER", "Proofs under way at once: 1024 unless given."),
          .value("rate", "NUMBER", "Start so many a second, however long they take."),
          .value("first", "NUMBER", "The first device token, so that a run does not repeat another's."),
          .value("app", "APP", "An app that is pushed to: com.example.push unless given."),
        ]),
    ])

  private static let version = CommandSyntax("version", "Prints the version.")
}
