import Synchronization
import TestSupport

final class Journal: Sendable {
  enum Entry: Sendable, Hashable {
    case performed(String, lane: String)
    case claimed(String)
    case settled(String)
    case published(exchange: String, routingKey: String)
    case acked(UInt64)
    case rejected(UInt64, requeue: Bool)
    case paused
    case resumed
    case resumedOneByOne
    case stoppedConsuming
    case sinkStopped
    case sourceClosed
    case ledgerClosed

    init(_ event: BrokerEvent) {
      self =
        switch event {
        case .published(let exchange, let routingKey): .published(exchange: exchange, routingKey: routingKey)
        case .acked(let number): .acked(number)
        case .rejected(let number, let requeue): .rejected(number, requeue: requeue)
        case .paused: .paused
        case .resumed: .resumed
        case .resumedOneByOne: .resumedOneByOne
        case .stoppedConsuming: .stoppedConsuming
        case .sinkStopped: .sinkStopped
        case .sourceClosed: .sourceClosed
        }
    }
  }

  private let entries = Mutex<[Entry]>([])

  func add(_ entry: Entry) { entries.withLock { $0.append(entry) } }

  var all: [Entry] { entries.withLock { $0 } }

  func count(of entry: Entry) -> Int { all.filter { $0 == entry }.count }

  func contains(_ entry: Entry) -> Bool { all.contains(entry) }
}
