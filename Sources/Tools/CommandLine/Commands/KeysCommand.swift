internal import CountersignCryptography
internal import CountersignEncoding
internal import CountersignTelemetry
internal import ServiceRuntime

/// `countersign keys`.
struct KeysCommand {
  let clock: any WallClock

  func run(_ arguments: CommandArguments) throws -> CommandOutput {
    let id = arguments.value("id") ?? "key-\(clock.now().rfc3339)"
    let old = try arguments.value("rotate").map { try InputFile.read($0, limit: KeyRing.maxSetBytes) }
    do {
      let set = try KeyRing.rotate(jwkSet: old, kid: id)
      // The set is JSON already, and just that is wanted, by people and by programs.
      let json = try JSONReader.operations.decode(JSONValue.self, from: set)
      return CommandOutput(text: set, json: json)
    } catch let error as JOSEError {
      throw OperationsError(.badInput, error.description)
    }
  }
}
