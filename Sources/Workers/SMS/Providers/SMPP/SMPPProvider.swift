import CountersignTelemetry
import JobEngine
import SMPP
import ServiceRuntime

struct SMPPProvider: SMSProvider {
  static let typeName = "smpp"
  static let tables = [ProviderTables.Source(typeName, sections: [.codes])]

  private let lane: SMPPLaneConfiguration
  private let host: String
  private let port: Int
  private let isEncrypted: Bool
  private let systemID: String
  private let password: Secret
  private let systemType: String
  private let window: Int
  private let enquireInterval: Duration
  private let messageIDs: MessageIDNotation

  init(_ section: ConfigurationSection) {
    host = section.string("host", "The server's name or address.")
    port = section.integer("port", default: 2775, in: 1...65_535, "The server's port.")
    isEncrypted = section.bool("tls", default: true, "Whether the connection is encrypted (TLS 1.2 or newer).")
    systemID = section.string("systemID", "The name of the account.")
    password = section.requiredSecretFile("passwordFile", "The account's password.")
    systemType = section.string("systemType", default: "", "The system_type, which some servers require.")
    window = section.integer(
      "window", default: 10, in: 1...10_000, "Maximum number of unanswered messages on the session.")
    enquireInterval = section.seconds(
      "enquireSeconds", default: .seconds(30), in: .seconds(1) ... .seconds(3600),
      "The silence after which the server is probed with enquire_link.")
    messageIDs = section.word(
      "messageIDs", default: .same, "How the server writes message IDs in receipts, compared with its responses.")
    lane = Self.lane(section)
    check(section)
  }

  /// A payload has no header for the tables, and only GSM's alphabet has any.
  var takesNationalShiftTables: Bool { lane.longMessages == .udh && lane.alphabet == .gsm7 }

  var reportsOnItsOwnConnection: Bool { lane.wantsReceipts }

  func makeLane(_ context: LaneContext, _ reports: ReportWays) -> SMSProviderLane {
    let session = SMPPSession(
      self.session(caFile: context.caFile),
      onReceipt: { receipt in
        // A report without a receiver need not be repeated.
        await reports.sink?.take(SessionReport(receipt, lane: context.name, at: context.clock.now())) ?? true
      },
      onEvent: { [events = context.logger.map { SMPPEventLog(logger: $0, lane: context.name) }] in events?.write($0) })
    return SMSProviderLane(
      SMPPLane(
        name: context.name, configuration: lane(hasSink: reports.sink != nil), table: context.table,
        session: session),
      service: SMPPService(lane: context.name, session: session))
  }

  func lane(hasSink: Bool) -> SMPPLaneConfiguration {
    var lane = lane
    lane.wantsReceipts = lane.wantsReceipts && hasSink
    return lane
  }

  func session(caFile: String?) -> SMPPConfiguration {
    SMPPConfiguration(
      host: host, port: UInt16(port), tls: isEncrypted ? SMPPTrust(caFile: caFile) : nil,
      bind: BindRequest(systemID: systemID, password: password.reveal(), systemType: systemType),
      limits: SMPPConfiguration.Limits(
        window: window, connectTimeout: Self.connectTimeout, enquireInterval: enquireInterval),
      messageIDs: messageIDs)
  }

  /// Short enough to leave a job time for another lane.
  private static let connectTimeout: Duration = .seconds(3)

  private static func lane(_ section: ConfigurationSection) -> SMPPLaneConfiguration {
    let from = section.from("The sender: a number, a short code or an alphanumeric sender ID.")
    if from == nil { section.problem("from", "is required: the sender of the messages") }
    let addressing = section.section("addressing")
    let defaults = SMPPAddressing(of: from ?? "")
    func part(_ key: String, _ fallback: UInt8, _ help: String) -> UInt8 {
      UInt8(addressing.integer(key, default: Int(fallback), in: 0...255, help))
    }
    return SMPPLaneConfiguration(
      source: ShortMessage.Address(
        ton: part("fromTON", defaults.ton, "Type of number of `from`."),
        npi: part("fromNPI", defaults.npi, "Numbering plan of `from`."), text: defaults.text),
      destinationTON: part("toTON", 1, "Type of number of recipients."),
      destinationNPI: part("toNPI", 1, "Numbering plan of recipients."),
      longMessages: section.word(
        "encodingOfLongMessages", default: .udh, "How a message longer than one segment is sent."),
      wantsReceipts: section.bool(
        "receipts", default: true, "Whether delivery reports are requested."),
      alphabet: section.word(
        "defaultAlphabet", default: SMPPAlphabet.gsm7,
        "The encoding that the server assumes for data_coding 0: gsm7, latin1 or ascii."))
  }

  private func check(_ section: ConfigurationSection) {
    // libsmpp34 would truncate a longer one, and the server would refuse it for an obscure reason.
    section.check(
      "systemID", systemID.utf8.count <= BindRequest.maxSystemID,
      "is longer than the \(BindRequest.maxSystemID) bytes that SMPP allows")
    checkPassword(section)
    section.check(
      "systemType", systemType.utf8.count <= BindRequest.maxSystemType,
      "is longer than the \(BindRequest.maxSystemType) bytes that SMPP allows")
    section.checkPlaintext(
      "tls", !isEncrypted && !host.isEmpty && !LocalHost.contains(host), "is false for a server on another machine",
      crossing: "password, codes and phone numbers", remedy: "set it to true")
  }
}

extension SMPPProvider {
  /// Many servers accept longer passwords than the protocol has room for, and some truncate them.
  private func checkPassword(_ section: ConfigurationSection) {
    let count = password.reveal().utf8.count
    section.check(
      "passwordFile", count <= BindRequest.maxLongPassword,
      "holds a password of more than \(BindRequest.maxLongPassword) bytes")
    if (BindRequest.maxPassword + 1...BindRequest.maxLongPassword).contains(count) {
      section.warning(
        "passwordFile",
        "holds a password of \(count) bytes; SMPP 3.4 allows \(BindRequest.maxPassword): ask the server's operator whether it accepts more"
      )
    }
  }
}

/// SMPP 3.4, 5.2.5 and 5.2.6.
struct SMPPAddressing: Sendable, Hashable {
  let ton: UInt8
  let npi: UInt8
  let text: String

  init(of from: String) {
    if from.hasPrefix("+") {
      (ton, npi, text) = (1, 1, String(from.dropFirst()))  // international, ISDN
    } else if from.unicodeScalars.allSatisfy(\.isDigit) {
      (ton, npi, text) = (3, 0, from)  // network specific
    } else {
      (ton, npi, text) = (5, 0, from)  // alphanumeric
    }
  }
}
