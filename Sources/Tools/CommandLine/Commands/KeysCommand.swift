import CountersignCryptography
import CountersignEncoding
import CountersignTelemetry
import ServiceRuntime

/// `countersign keys`.
enum KeysCommand {
  static let group = CommandEntry(
    "keys", "Manages the keys that seal codes inside messages.", [CommandEntry(Generate.self)])

  /// `countersign keys generate`.
  enum Generate: OperatorCommand {
    static let syntax = CommandSyntax(
      "generate", "Prints a JWK set with a new key.",
      discussion: """
        To rotate: generate --rotate OLD.json > NEW.json, give NEW.json to every process that opens, then to the
        coordinator, which seals with the first key; when no old message is left, take the old keys out.
        """,
      options: Options.self)

    struct Options: CommandOptions {
      let id, rotate: String?

      init(_ reader: OptionReader) {
        id = reader.text("id", "KID", "ID of the new key: the date and time unless given.")
        rotate = reader.text("rotate", "FILE", "JWK set whose keys follow the new key.")
      }
    }

    static func run(_ options: Options, in context: CommandContext) async throws -> CommandOutput {
      let id = options.id ?? "key-\(context.clock.now().rfc3339)"
      let old = try options.rotate.map { try InputFile.read($0, limit: KeyRing.maxSetBytes) }
      do {
        let set = try KeyRing.rotate(jwkSet: old, kid: id)
        // The set is the output as it is, for people and for programs.
        return CommandOutput(text: set, json: try JSONReader.commandLine.decode(JSONValue.self, from: set))
      } catch let error as JOSEError {
        throw CommandLineError(.badInput, error.description)
      }
    }
  }
}
