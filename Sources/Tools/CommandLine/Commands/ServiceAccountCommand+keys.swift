import CountersignEncoding
import CountersignMessages
import ServiceRuntime

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

extension ServiceAccountCommand {
  struct AddOptions: CommandOptions {
    let file: KeyFileOptions
    let roles: RolesOption

    init(_ reader: OptionReader) {
      roles = RolesOption(reader)
      file = KeyFileOptions(reader)
    }
  }

  static let add = CommandEntry(
    "add", "Adds a service account, and writes the file with its private key.",
    discussion: "The key is made here, and only its public part leaves this machine. The file is the only copy.",
    options: AddOptions.self
  ) { options, context in
    try await options.file.withNewKey(.create, context) { $0.roles = options.roles.roles }
  }

  static let addKey = CommandEntry(
    "add", "Adds a key to a service account, and writes the file with it. The keys of before stay good.",
    options: KeyFileOptions.self
  ) { file, context in
    try await file.withNewKey(.addKey, context) { _ in }
  }

  struct RemoveKeyOptions: CommandOptions {
    let target: Target
    let keyID: String

    init(_ reader: OptionReader) {
      target = Target(reader)
      keyID = reader.operand("KEY", "ID of the key: private_key_id of its file.")
    }
  }

  static let removeKey = CommandEntry(
    "remove", "Removes a key of a service account: nothing that it signs is taken any longer.",
    options: RemoveKeyOptions.self
  ) { options, context in
    try await carryOut(.removeKey, options.target, context) { $0.keyID = options.keyID }
  }
}

extension ServiceAccountCommand {
  /// A service account that gets a key, and the file for it.
  struct KeyFileOptions: CommandOptions {
    private let target: Target
    private let file: String?
    private let tokenURI: String

    init(_ reader: OptionReader) {
      file = reader.text(
        "key-file", "FILE", "File for the private key, which does not exist yet: PROJECT-NAME.json unless given.")
      tokenURI =
        reader.text(
          "token-uri", "URL",
          "Address where libraries get access tokens, in the file: \(ServiceAccountKey.defaultTokenURI) unless given.")
        ?? ServiceAccountKey.defaultTokenURI
      target = Target(reader)
    }

    /// The file stands on the disk before accounts takes its key, so that no key is taken whose private part is lost.
    func withNewKey(
      _ act: SetServiceAccount.Act, _ context: CommandContext, _ body: (inout SetServiceAccount) -> Void
    ) async throws -> CommandOutput {
      let (project, name) = (try target.project.id(), try target.checkedName())
      let path = file ?? "\(project)-\(name).json"
      let key = try ServiceAccountKey()
      var command = SetServiceAccount(project: project, act: act, name: name)
      command.keyID = key.id
      command.publicKey = try key.publicKey()
      body(&command)
      let content = try key.file(name: name, project: project, tokenURI: tokenURI)
      try NewFile.write(Array((content.json(indented: true) + "\n").utf8), to: path)
      let reply: ServiceAccountsListed
      do {
        reply = try await context.sendAsOperator(command)
      } catch {
        // Without an answer the key may have been taken.
        if error.code == .unavailable {
          context.report("note: \(path) stays, for accounts may have its key: 'service-account list' shows it if so\n")
        } else {
          unlink(path)
        }
        throw error
      }
      var output = ServiceAccountCommand.output(reply)
      output.text += "\nthe key \(key.id) is in \(path), and nowhere else: keep it secret"
      output.json = output.json.adding("keyFile", .text(path)).adding("keyID", .text(key.id))
      return output
    }
  }
}
