import Mail
import ServiceRuntime

extension LiveBackend {
  func mailConfiguration(file: String?) throws(CommandLineError) -> MailWorkerConfiguration {
    guard let file = file ?? configuration.configDirectory.map({ $0 + "/mail-worker.json5" }) else {
      throw CommandLineError(
        .configuration,
        "the path of mail-worker.json5 is not known: give --worker-config, or set COUNTERSIGN_CONFIG_DIR")
    }
    do {
      // The environment of this program is not the worker's.
      return try MailWorkerConfiguration.load(file: file, environment: [:]).content
    } catch {
      throw CommandLineError(.configuration, error.description)
    }
  }

  func diagnoseMail(_ configuration: MailWorkerConfiguration, timeout: Duration) async -> [Finding] {
    let records = TextRecords(timeout: timeout)
    let check = MailCheck { (name) throws(TextRecords.Failure) in try await records.of(name) }
    return await check.findings(configuration) + (await servers(configuration, timeout))
  }

  private func servers(_ configuration: MailWorkerConfiguration, _ timeout: Duration) async -> [Finding] {
    await MailRelay.checkServers(configuration, timeout: timeout).map { name, problem in
      let check = "mail server of lane \(name)"
      guard let problem else { return Finding(check, .ok, "it accepts this client") }
      return Finding(check, .failed, problem, hint: "correct the lane in mail-worker.json5, or the server")
    }
  }
}
