internal import CountersignMessages
internal import ServiceRuntime

extension CountersignSyntax {
  static let app = CommandSyntax(
    "app", "Proves an app by push.",
    subcommands: [
      CommandSyntax(
        "verify", "Gets a receipt and has its secret pushed to a device, and says what became of the push.",
        discussion: """
          The device gets the secret; with it goes:
            countersign verify start NUMBER --app APP --receipt RECEIPT --secret SECRET
          """,
        options: [
          .value("app", "APP", "The app, its bundle ID: com.example.app unless given."),
          .value("environment", "WORD", "Whose token it is: sandbox, production or unknown, which it is unless given."),
          .value("ip", "ADDRESS", "The address of the client, for its limits."),
          noWait,
        ],
        operands: [.required("TOKEN", "The device token that the device got from Apple, in hexadecimal.")])
    ])

  static let revoke = CommandSyntax(
    "revoke", "Revokes a token of Sign in with Apple, and tells its owner by mail.",
    discussion: """
      Give one of --code, --refresh-token and --access-token; - is standard input, which no process list shows.
      The same token twice is one operation.
      """,
    options: [
      .value("app", "APP", "The app, its bundle ID: com.example.app unless given."),
      .value("code", "CODE", "An authorization code: good once, for five minutes."),
      .value("refresh-token", "TOKEN", "A refresh token."),
      .value("access-token", "TOKEN", "An access token."),
      .value("client-id", "ID", "The Services ID, when Apple gave the token to one and not to the app."),
      .value("redirect-uri", "URI", "That of the authorization request, when it had one."),
      .value("notify", "ADDRESS", "Who gets a mail when it is done."),
      .value("language", "CODE", "The language of the mail, BCP 47: pt-BR."),
      .value("template", "NAME", "The template of the mail."),
      noWait,
    ])

  static let operation = CommandSyntax(
    "operation", "Looks after revocations and pushes.",
    subcommands: [
      CommandSyntax(
        "status", "Shows what has happened to a revocation, or to the push of a receipt, in every process.",
        operands: [.required("ID", "The operation ID, or the receipt.")])
    ])

  static let forget = CommandSyntax(
    "forget", "Has the coordinator erase what it holds about a phone number.",
    discussion: """
      A verification that lives is canceled first. Says how much was erased, and what is somewhere else.
      """,
    operands: [.required("NUMBER", "The number in E.164: +14155550123.")])

  static let conversion = CommandSyntax(
    "conversion", "Shows how many of the codes that were sent come back, and lifts blocks.",
    discussion: """
      Where too few codes come back, somebody may be paid for messages that nobody reads, or messages do not arrive. The coordinator
      then sends nothing to that prefix (the numbers that differ in their last four digits only) or that region for a while.
      """,
    subcommands: [
      CommandSyntax(
        "list", "Lists what is blocked, and the figures of the last while, the worst first.",
        options: [
          .value(
            "limit", "NUMBER",
            "Most entries of each kind, up to \(ListConversions.maxLimit): \(ListConversions.defaultLimit) unless given."
          )
        ]),
      CommandSyntax(
        "lift", "Has messages sent again, and begins to count anew. Exit code 1 when nothing is blocked there.",
        operands: [.required("KEY", "The prefix or the region, as the list shows it: +1415555, US.")]),
    ])

  private static let noWait = CommandOption.flag("no-wait", "Do not wait for what becomes of it.")

  /// How a start is proven to come from the app.
  static let proofOptions: [CommandOption] = [
    .value("receipt", "RECEIPT", "The receipt of app verify; with --secret, or beside --recaptcha-token."),
    .value("secret", "SECRET", "The secret that was pushed to the device."),
    .value("recaptcha-token", "TOKEN", "What the app got from reCAPTCHA, in the place of receipt and secret."),
  ]
}
