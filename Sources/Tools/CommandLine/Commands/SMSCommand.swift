internal import JobEngine
internal import SMS
internal import ServiceRuntime

/// `countersign sms`.
struct SMSCommand {
  let input: @Sendable () throws(OperationsError) -> [UInt8]

  func run(_ arguments: CommandArguments) throws -> CommandOutput {
    let preview = SMSPreview(try text(arguments), try transliteration(arguments))
    return CommandOutput(text: preview.lines, json: preview.json)
  }

  private func text(_ arguments: CommandArguments) throws -> SMSText {
    let given = arguments.operands("TEXT").first
    if let template = arguments.value("template") {
      guard given == nil else { throw UsageError("give a TEXT or --template, not both") }
      return try rendered(template, arguments)
    }
    if let given { return SMSText(given) }
    let bytes = try input()
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw OperationsError(.badInput, "the text is not UTF-8")
    }
    // What a shell puts behind the last line is not meant.
    return SMSText(text.hasSuffix("\n") ? String(text.dropLast()) : text)
  }

  private func rendered(_ template: String, _ arguments: CommandArguments) throws -> SMSText {
    var variables = [
      "code": arguments.value("code") ?? "482913", "appName": arguments.value("app-name") ?? "Example App",
    ]
    variables["domain"] = arguments.value("domain")
    variables["androidHash"] = arguments.value("android-hash")
    do {
      let templates = try SMSTemplates(
        directory: arguments.value("templates") ?? TemplatesCommand.defaultDirectory, defaultLanguage: "en")
      return try templates.render(template, languageCode: arguments.value("language"), variables: variables)
    } catch let error as WorkerError {
      throw OperationsError(.noInput, error.message)
    } catch let error as SMSTemplateProblem {
      throw OperationsError(.badInput, error.description)
    }
  }

  private func transliteration(_ arguments: CommandArguments) throws(OperationsError) -> Transliteration? {
    let file = arguments.value("transliteration")
    // Without the shipped table, which another directory need not have, that alternative is left out.
    guard file != nil || FileFacts(Self.defaultTable) != nil else { return nil }
    do {
      return try Transliteration(file: file ?? Self.defaultTable)
    } catch {
      throw OperationsError(.noInput, error.message)
    }
  }

  private static let defaultTable = "Config/transliteration.json5"
}
