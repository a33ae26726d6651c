import CommandEngine
import CountersignMessages
import CountersignTelemetry

/// Commands of administrators and operators, and custom tokens.
struct AdministrationFlow: Flow {
  private let parts: AccountParts

  init(_ parts: AccountParts) {
    self.parts = parts
  }

  var commands: [CommandKind] { serviceAccounts + users + providers + tokens + verifications }

  var reports: [ReportKind] { VerificationReply.types.map(VerificationReply.kind) }

  var dueRecords: [DueRecords] {
    [
      DueRecords(OpenIDRecord.kind, part: MaintenancePart(rawValue: "seal_providers")) {
        [ring = parts.openID.ring] record, set throws(StoreError) in
        try OpenIDRecord.sealAgain(record, with: ring, in: &set)
      },
      DueRecords(VerificationCall.kind, part: MaintenancePart(rawValue: "end_verification_calls")) {
        record, set throws(StoreError) in
        try VerificationCall(record).answer(CommandAnswer(.noVerificationReply), in: &set)
      },
    ]
  }

  private var serviceAccounts: [CommandKind] {
    [
      CommandKind(SetServiceAccount.self, users: .operators) { [parts] command, envelope, _ throws(APIError) in
        try SetServiceAccountOrder(command, envelope, parts.reader)
      },
      CommandKind(ListServiceAccounts.self, users: .operators, isLook: true) {
        [parts] command, _, _ throws(APIError) in
        try ListServiceAccountsOrder(command, parts.reader)
      },
      CommandKind(ListActs.self, users: .operators, isLook: true) { [parts] command, _, _ throws(APIError) in
        try ListActsOrder(command, parts.reader)
      },
    ]
  }

  private var users: [CommandKind] {
    [
      CommandKind(CreateAccount.self, users: .requestersAndOperators, isRefusedLate: true) {
        [parts] command, envelope, _ throws(APIError) in
        try WriteOrder(.create, command.user, bearer: command.bearer, project: command.project, envelope, parts)
      },
      CommandKind(ChangeAccount.self, users: .requestersAndOperators, isRefusedLate: true) {
        [parts] command, envelope, _ throws(APIError) in
        try WriteOrder(.change, command.user, bearer: command.bearer, project: command.project, envelope, parts)
      },
      CommandKind(FindAccounts.self, users: .requestersAndOperators, isLook: true) {
        [parts] command, envelope, _ throws(APIError) in
        try FindOrder(command, envelope, parts.reader)
      },
      CommandKind(ListAccounts.self, users: .requestersAndOperators, isRefusedLate: true) {
        [parts] command, envelope, _ throws(APIError) in
        try ListOrder(command, envelope, parts.reader)
      },
      CommandKind(RemoveAccounts.self, users: .requestersAndOperators, isRefusedLate: true) {
        [parts] command, envelope, _ throws(APIError) in
        try RemoveOrder(command, envelope, parts)
      },
      CommandKind(ImportAccounts.self, users: .requestersAndOperators) {
        [parts] command, envelope, _ throws(APIError) in
        try ImportOrder(command, envelope, parts)
      },
      CommandKind(ProjectSettingsCommand.self, users: .requestersAndOperators, isRefusedLate: true) {
        [parts] command, envelope, _ throws(APIError) in
        try SettingsOrder(command, envelope, parts.reader)
      },
    ]
  }

  private var providers: [CommandKind] {
    [
      CommandKind(SetProvider.self, users: .requestersAndOperators, isRefusedLate: true) {
        [parts] command, envelope, _ throws(APIError) in
        try SetProviderOrder(command, envelope, parts)
      },
      CommandKind(FindProviders.self, users: .requestersAndOperators, isLook: true) {
        [parts] command, envelope, _ throws(APIError) in
        try FindProvidersOrder(command, envelope, parts)
      },
    ]
  }

  private var tokens: [CommandKind] {
    [
      CommandKind(GrantAccess.self, users: .requesters, isRefusedLate: true) {
        [parts] command, envelope, now throws(APIError) in
        try GrantOrder(command, envelope, at: now, parts.reader)
      },
      CommandKind(CreateSessionCookie.self, users: .requestersAndOperators, isRefusedLate: true) {
        [parts] command, envelope, now throws(APIError) in
        try CookieOrder(command, envelope, at: now, parts)
      },
      CommandKind(SignInWithCustomToken.self, users: .requesters, isRefusedLate: true) {
        [parts] command, envelope, now throws(APIError) in
        try CustomTokenOrder(command, envelope, at: now, parts.reader)
      },
    ]
  }

  private var verifications: [CommandKind] {
    [
      verification(StartServiceVerification.self), verification(CheckServiceVerification.self),
      verification(GetServiceVerification.self), verification(CancelServiceVerification.self),
    ]
  }

  private func verification<C: ServiceVerificationCommand>(_ type: C.Type) -> CommandKind {
    CommandKind(type, users: .requestersAndOperators, isRefusedLate: true) {
      [parts] command, envelope, _ throws(APIError) in
      try VerificationOrder(command, envelope, parts)
    }
  }
}
