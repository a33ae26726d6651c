/// In the order of the help.
enum CountersignSyntax {
  static let program = CommandEntry(
    "countersign", "Verifies phone numbers and apps, revokes tokens, and manages the queues behind it.",
    discussion: """
      The broker and its user come from the options, else from the environment, else from the configuration file. Where neither
      options nor environment name an installation, .run/stack.env of the development stack takes the place of all three:
        COUNTERSIGN_AMQP_URL           verify, app, enqueue, …   amqp://sender:PASSWORD@HOST:PORT/VHOST
        COUNTERSIGN_OPERATOR_AMQP_URL  dead, account, …          amqp://operator:PASSWORD@HOST:PORT/VHOST
        COUNTERSIGN_MANAGEMENT_URL     topology, doctor          https://operator:PASSWORD@HOST:PORT
      In the place of HOST:PORT, each takes the nodes of a cluster: HOST1:PORT,HOST2:PORT,HOST3:PORT. The next one is asked
      when one cannot be reached.

      Exit codes:
        0   done
        1   carried out, and the answer is no: a wrong code, a refused number or message, a difference, a finding
        64  the arguments are wrong              65  the input is wrong
        66  a file cannot be read                69  something that is needed does not answer: try again
        70  a fault of the program               77  the user may not do it
        78  a setting is missing or wrong
      """,
    options: GlobalOptions.self,
    [
      VerifyCommand.group, AppCommand.group, RevokeCommand.entry, OperationCommand.group,
      ConversionCommand.group, ForgetCommand.entry, EnqueueCommand.entry, MailCommand.group,
      ProjectCommand.group, ProviderCommand.group, AccountCommand.group, ServiceAccountCommand.group,
      WebhookCommand.group, AuditCommand.entry, TopologyCommand.group, ServiceCommand.group,
      StoreCommand.group, JobsCommand.group, DeadCommand.group, KeysCommand.group, DoctorCommand.entry,
      TemplatesCommand.group, SMSCommand.group, VersionCommand.entry,
    ])
}
