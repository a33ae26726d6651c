internal import ServiceRuntime

extension CountersignSyntax {
  static let topology = CommandSyntax(
    "topology", "Declares exchanges, queues, bindings and policies on the broker, and compares its users.",
    discussion: """
      RabbitMQ shows users, rights and limits to administrators only: with another user they are not compared, and check ends with 77
      when nothing else differs. An administrator's apply also adds users that are missing, without a password, and sets rights.
      """,
    subcommands: [
      CommandSyntax(
        "apply", "Declares what is missing and mends what differs; a repetition changes nothing.",
        options: [withoutUsers]),
      CommandSyntax(
        "check", "Says what is missing or differs. Exit code 1 when something does.", options: [withoutUsers]),
      CommandSyntax("export", "Prints topology and users as a document that rabbitmqctl import_definitions takes."),
      CommandSyntax(
        "user", "Prints the rabbitmqctl commands that make a user of the broker what it has to be.",
        discussion: """
          Give each service a user of its own:
            countersign topology user billing --like service
          """,
        options: [
          .value(
            "like", "USER", "For a user of your own: service, which sends commands, or sender, which sends jobs too."),
          .value("vhost", "VHOST", "The virtual host: / unless given."),
        ],
        operands: [.required("NAME", "One of the users that the topology has, or, with --like, one of your own.")]),
    ])

  private static let withoutUsers = CommandOption.flag(
    "without-users", "Leave out users, rights and limits, which only administrators may see.")
}
