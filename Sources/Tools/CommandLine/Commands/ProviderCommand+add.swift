import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import Projects
import ServiceRuntime

extension ProviderCommand {
  enum Add {
    private enum Flow: String, CaseIterable {
      case code, idToken
    }

    struct Options: CommandOptions {
      let project: ProjectOption
      let pages: ReturnOption
      let trust: TrustOption
      let name: String
      let issuer: String?
      let clients: [String]
      let secretFiles: [String]
      let displayName: String?
      let usesCodeFlow: Bool
      let scopes: [String]
      let parameters: [String]
      let isOff: Bool
      let replaces: Bool

      init(_ reader: OptionReader) {
        project = reader.inherited()
        issuer = reader.text(
          "issuer", "URL", "Issuer, exactly as its ID tokens have it: https://id.example.com; required.")
        clients = reader.texts(
          "client-id", "ID", "Client of the project there, ios=ID for apps of a platform; required, may be repeated.")
        secretFiles = reader.texts(
          "secret-file", "FILE", "File with the secret of a client, in the order of the clients; may be repeated.")
        usesCodeFlow =
          reader.word("flow", "FLOW", "code, or idToken, the implicit flow: code unless given.") != Flow.idToken
        scopes = reader.texts("scope", "SCOPE", "Scope that is asked for beside openid; may be repeated.")
        parameters = reader.texts("parameter", "NAME=VALUE", "Parameter of its page; may be repeated.")
        displayName = reader.text("display-name", "NAME", "Name for people: NAME unless given.")
        isOff = reader.flag("off", "Leave it switched off.")
        replaces = reader.flag("replace", "Put it in the place of one that is there.")
        (pages, trust) = (ReturnOption(reader), TrustOption(reader))
        name = reader.operand("NAME", "Name of the provider, which its ID follows from.")
      }

      func fields() throws(CommandLineError) -> OpenIDFields {
        var fields = OpenIDFields()
        fields.issuer = issuer
        fields.clients = try checkedClients()
        fields.displayName = displayName ?? name
        fields.enabled = !isOff
        (fields.usesCodeFlow, fields.scopes) = (usesCodeFlow, scopes)
        fields.parameters = try checkedParameters()
        return fields
      }

      private func checkedClients() throws(CommandLineError) -> [OpenIDClient] {
        guard issuer != nil else { throw CommandLineError(.usage, "--issuer is missing") }
        guard !clients.isEmpty else { throw CommandLineError(.usage, "--client-id is missing") }
        guard secretFiles.count <= clients.count else {
          throw CommandLineError(.usage, "there are more --secret-file than --client-id")
        }
        var all: [OpenIDClient] = []
        for (index, text) in clients.enumerated() {
          let platform = ProjectApp.Platform.allCases.first { text.hasPrefix("\($0.rawValue)=") }
          var client = OpenIDClient(clientID: platform.map { String(text.dropFirst($0.rawValue.count + 1)) } ?? text)
          client.platform = platform?.rawValue
          if secretFiles.indices.contains(index) { client.secret = try Self.secret(secretFiles[index]) }
          all.append(client)
        }
        return all
      }

      /// Without the line break at the end that editors write.
      private static func secret(_ file: String) throws(CommandLineError) -> String {
        var bytes = try InputFile.read(file, limit: 4_096)
        while let last = bytes.last, [0x0A, 0x0D].contains(last) { bytes.removeLast() }
        let text = String(decoding: bytes, as: UTF8.self)
        guard OpenIDForms.isSecret(text) else {
          throw CommandLineError(.badInput, "\(file) must have a secret of 1 to 1,024 characters of ASCII")
        }
        return text
      }

      private func checkedParameters() throws(CommandLineError) -> [String: String] {
        var all: [String: String] = [:]
        for text in parameters {
          guard let sign = text.firstIndex(of: "="), sign != text.startIndex else {
            throw CommandLineError(.usage, "--parameter must be NAME=VALUE")
          }
          all[String(text[..<sign])] = String(text[text.index(after: sign)...])
        }
        return all
      }
    }

    static let entry = CommandEntry(
      "add", "Adds an OpenID Connect provider, and prints its ID and the return address to enter there.",
      discussion: """
        The ID follows from the name: "Example Provider" is oidc.example-provider. A provider that is there already
        stays as it is, unless --replace is given.
        """, options: Options.self
    ) { options, context in
      let (project, id, fields) = (try options.project.id(), try providerID(options.name), try options.fields())
      let (backend, address) = (try context.backend(), try options.pages.address(of: project, context))
      let reply = try await backend.withAccounts { accounts throws(CommandLineError) in
        try await accounts.ask(timeout: context.timeout) { messageID throws(CommandLineError) in
          var command = SetProvider(project: project, providerID: id, act: options.replaces ? .change : .create)
          command.fields = try accounts.seal(fields, for: SetProvider.self, id: messageID)
          return command
        }
      }
      if let view = reply.providers.first, !view.usesCodeFlow {
        let offers = try await backend.withProbe(caFile: options.trust.caFile) { probe throws(CommandLineError) in
          await ProviderFindings(view: view, returnAddress: nil, probe: probe).offersCode()
        }
        if offers { context.report("warning: \(ProviderFindings.implicitWarning)\n") }
      }
      let place = address ?? "https://AUTH-DOMAIN/__/auth/handler, with the project's authDomain"
      let lines = [
        "provider        \(id)", "return address  \(place)",
        "next            countersign provider check \(id) --project \(project)",
      ]
      return CommandOutput(
        text: lines.joined(separator: "\n"),
        json: .object(["providerID": .text(id), "returnAddress": .optional(address)]))
    }

    /// `oidc.example-provider` of `Example Provider`.
    static func providerID(_ name: String) throws(CommandLineError) -> String {
      if OpenIDForms.isID(name) { return name }
      let marks = name.lowercased().unicodeScalars.map { scalar in
        ("a"..."z").contains(scalar) || ("0"..."9").contains(scalar) || scalar == "." ? Character(scalar) : "-"
      }
      let id = OpenIDForms.prefix + String(marks).split(separator: "-").joined(separator: "-")
      guard OpenIDForms.isID(id) else {
        throw CommandLineError(.badInput, "NAME leads to no ID: it must be \(OpenIDForms.idForm)")
      }
      return id
    }
  }
}
