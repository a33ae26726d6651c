import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects
import ServiceRuntime

/// Commands about the OpenID Connect providers of a project.
enum ProviderCommand {
  static let group = CommandEntry(
    "provider", "Manages and checks the OpenID Connect providers of a project.",
    discussion: """
      Accounts keeps what 'add' sends, its secrets sealed. Providers of the project's file are listed and checked, too.
      docs/identity-providers.md says what to enter at the provider.
      """,
    options: ProjectOption.self,
    [Add.entry, list, check, remove])

  /// Address that a provider leads back to: the page of the project's domain.
  struct ReturnOption: CommandOptions {
    private let domain: String?

    init(_ reader: OptionReader) {
      domain = reader.text(
        "auth-domain", "HOST", "Host of the project's pages: that of its file beside the configuration unless given.")
    }

    /// `nil` where the domain is not known here.
    func address(of project: String, _ context: CommandContext) throws(CommandLineError) -> String? {
      if let domain {
        guard ProjectForms.isHost(domain) else {
          throw CommandLineError(.badInput, "--auth-domain must be a host name: example.com")
        }
        return Self.address(domain)
      }
      guard let directory = try context.backend().configDirectory else { return nil }
      do throws(CommandLineError) {
        return try ProjectFiles(directory + "/projects").project(project).authDomain.map(Self.address)
      } catch {
        return nil
      }
    }

    private static func address(_ domain: String) -> String { "https://\(domain)/__/auth/handler" }
  }

  /// Authorities of the provider's certificate.
  struct TrustOption: CommandOptions {
    let caFile: String?

    init(_ reader: OptionReader) {
      caFile = reader.text("ca-file", "FILE", "Certificates to trust, PEM: those of the system unless given.")
    }
  }

  struct Target: CommandOptions {
    let project: ProjectOption
    private let id: String

    init(_ reader: OptionReader) {
      project = reader.inherited()
      id = reader.operand("ID", "ID of the provider: oidc.example.")
    }

    func checkedID() throws(CommandLineError) -> String {
      guard OpenIDForms.isID(id) else { throw CommandLineError(.badInput, "ID must be \(OpenIDForms.idForm)") }
      return id
    }
  }

  static func output(_ views: [ProviderView]) -> CommandOutput {
    var table = TextTable("PROVIDER", "STATE", "FLOW", "ISSUER", "CLIENTS", "FROM")
    table.rows = views.map { view in
      [
        view.providerID, view.enabled ? "on" : "off", view.usesCodeFlow ? "code" : "idToken", view.issuer,
        view.clients.map(\.text).joined(separator: ", "), view.isFromFile ? "file" : "administrators",
      ]
    }
    return CommandOutput(
      text: views.isEmpty ? "no OpenID Connect providers" : table.text,
      json: .object(["providers": .array(views.map { JSONValue(encoding: $0) })]))
  }

  /// Bounds the pages.
  private static let maxProviders = 1_000

  static let list = CommandEntry(
    "list", "Lists the OpenID Connect providers of a project.", options: GroupOptions<ProjectOption>.self
  ) { options, context in
    let (project, backend) = (try options.shared.id(), try context.backend())
    var views: [ProviderView] = []
    var hasMore = true
    while hasMore, views.count < maxProviders {
      var command = FindProviders(project: project)
      command.behind = views.last?.providerID
      let page = try await backend.sendAsOperator(command, timeout: context.timeout)
      views += page.providers
      hasMore = page.hasMore == true && !page.providers.isEmpty
    }
    return output(views)
  }

  struct CheckOptions: CommandOptions {
    let target: Target
    let pages: ReturnOption
    let trust: TrustOption

    init(_ reader: OptionReader) {
      (pages, trust) = (ReturnOption(reader), TrustOption(reader))
      target = Target(reader)
    }
  }

  static let check = CommandEntry(
    "check", "Compares a provider with what it says of itself, from this machine, and names what is wrong.",
    options: CheckOptions.self
  ) { options, context in
    let (project, backend) = (try options.target.project.id(), try context.backend())
    var command = FindProviders(project: project)
    command.providerID = try options.target.checkedID()
    let found = try await backend.sendAsOperator(command, timeout: context.timeout)
    guard let view = found.providers.first else {
      throw CommandLineError(.internalError, "accounts answered without the provider")
    }
    let address = try options.pages.address(of: project, context)
    let findings = try await backend.withProbe(caFile: options.trust.caFile) { probe throws(CommandLineError) in
      await ProviderFindings(view: view, returnAddress: address, probe: probe).all()
    }
    return DoctorCommand.output(Finding.ordered(findings))
  }

  static let remove = CommandEntry(
    "remove", "Removes a provider that was added. Accounts of users keep their identities there.", options: Target.self
  ) { target, context in
    let id = try target.checkedID()
    _ = try await context.sendAsOperator(SetProvider(project: try target.project.id(), providerID: id, act: .remove))
    return CommandOutput(text: "\(id) is removed", json: .object(["removed": .text(id)]))
  }
}

extension ProviderView.Client {
  fileprivate var text: String {
    [platform, clientID, hasSecret ? nil : "(no secret)"].compactMap { $0 }.joined(separator: " ")
  }
}
