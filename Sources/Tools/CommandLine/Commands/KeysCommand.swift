import CountersignCryptography
import CountersignEncoding
import CountersignMessages
import CountersignTelemetry
import ServiceRuntime

enum KeysCommand {
  static let group = CommandEntry(
    "keys", "Manages the keys that seal codes and tokens inside messages, and those that sign ID tokens.",
    [generate, publicPart, rotate])

  struct GenerateOptions: CommandOptions {
    let id, rotate: String?
    let sealing: Bool

    init(_ reader: OptionReader) {
      id = reader.text("id", "KID", "ID of the new key: the date and time unless given.")
      rotate = reader.text("rotate", "FILE", "JWK set whose keys follow the new key.")
      sealing = reader.flag("sealing", "Makes a key pair for accounts, to whose public part the gateway seals.")
    }
  }

  static let generate = CommandEntry(
    "generate", "Prints a JWK set with a new key.",
    discussion: """
      To rotate: generate --rotate OLD.json > NEW.json, give NEW.json to the workers, then to the coordinator, and last
      to accounts, which both seal with the first key; restart each. When no old message is left, take the old keys out.
      Token keys of several accounts processes rotate otherwise: docs/operations.md.
      With --sealing the set is for accounts alone: others seal to its public keys, which keys public prints.
      """, options: GenerateOptions.self
  ) { options, context in
    let id = options.id ?? "key-\(context.clock.now().rfc3339)"
    let old = try options.rotate.map { try InputFile.read($0, limit: KeyRing.maxSetBytes) }
    return try output {
      () throws(JOSEError) in
      guard options.sealing else { return try KeyRing.rotate(jwkSet: old, kid: id) }
      var keys: PrivateSealingKeys?
      if let old { keys = try PrivateSealingKeys(jwkSet: old) }
      return try PrivateSealingKeys.rotate(keys, id: id).jwkSet()
    }
  }

  static let publicPart = CommandEntry(
    "public", "Prints the public part of the keys that accounts opens with.",
    discussion: """
      The output is for the gateway, which seals to the first key. To rotate: generate --sealing --rotate OLD.json
      > NEW.json, give NEW.json to every accounts process, then its public part to every gateway, and restart each; a
      day later take the old keys out.
      """, operand: .required("FILE", "JWK set of accounts, from generate --sealing.")
  ) { file, _ in
    let set = try InputFile.read(file, limit: KeyRing.maxSetBytes)
    return try output { () throws(JOSEError) in try PrivateSealingKeys(jwkSet: set).publicSet }
  }

  struct RotateOptions: CommandOptions {
    let withdraw: Bool

    init(_ reader: OptionReader) {
      withdraw = reader.flag("withdraw", "Deletes all other keys, which ends every ID token and session cookie.")
    }
  }

  static let rotate = CommandEntry(
    "rotate", "Makes the next key for ID tokens before its time.",
    discussion: """
      The new key is published now, and signs when no verifier has old keys any longer, without an interruption.
      With --withdraw, when somebody else may have a key: the new key signs at once, and all others are deleted.
      Accounts then refuses ID tokens from before. Apps get new ones by their refresh tokens, but pages that are loaded
      within the hour sign their users out. A verifier of one's own takes forged ones until it has fetched the keys
      again: restart it.
      """, options: RotateOptions.self
  ) { options, context in
    try await context.announce("keys.rotate", on: options.withdraw ? "--withdraw" : nil)
    let rotated = try await context.sendAsOperator(RotateKeys(withdraw: options.withdraw))
    let text =
      options.withdraw
      ? "the key \(rotated.key) signs, and \(rotated.withdrawn.count) keys were deleted: restart verifiers of your own"
      : "the key \(rotated.key) is published, and signs from \(rotated.signsFrom.rfc3339)"
    return CommandOutput(text: text, reply: rotated)
  }

  /// The set is the output as it is, for people and for programs.
  private static func output(_ make: () throws(JOSEError) -> String) throws -> CommandOutput {
    do {
      let set = try make()
      return CommandOutput(text: set, json: try JSONReader.commandLine.value(of: set.utf8))
    } catch let error as JOSEError {
      throw CommandLineError(.badInput, error.description)
    }
  }
}
