import Synchronization

/// Active faults, in the order of their orders; a request gets the first one that matches.
final class FaultRegistry: Sendable {
  static let maxFaults = 100

  private struct State {
    var faults: [Fault] = []
    var nextID = 1
  }

  private let state = Mutex(State())
  private let random: @Sendable () -> Double

  init(random: @escaping @Sendable () -> Double) { self.random = random }

  func add(_ body: [UInt8]) throws(ControlProblem) -> Fault {
    let order = try FaultOrder.read(body)
    return try state.withLock { state throws(ControlProblem) in
      guard state.faults.count < Self.maxFaults else {
        throw ControlProblem("there are \(Self.maxFaults) faults already; DELETE /control/faults clears them")
      }
      let fault = try order.fault(id: state.nextID)
      state.nextID += 1
      state.faults.append(fault)
      return fault
    }
  }

  /// Fault for a request, if there is one. A fault that has hit often enough is removed.
  func take(_ provider: Provider, to recipient: String) -> Fault? {
    state.withLock { state in
      guard let index = state.faults.firstIndex(where: { hits($0, provider, recipient) }) else { return nil }
      state.faults[index].hits += 1
      let fault = state.faults[index]
      if let remaining = fault.remaining {
        state.faults[index].remaining = remaining - 1
        if remaining == 1 { state.faults.remove(at: index) }
      }
      return fault
    }
  }

  func all() -> [Fault] { state.withLock { $0.faults } }

  /// Removes one fault, or all. Returns their number.
  func clear(id: Int? = nil) -> Int {
    state.withLock { state in
      let before = state.faults.count
      state.faults.removeAll { id == nil || $0.id == id }
      return before - state.faults.count
    }
  }

  private func hits(_ fault: Fault, _ provider: Provider, _ recipient: String) -> Bool {
    guard fault.provider == nil || fault.provider == provider else { return false }
    guard fault.recipient == nil || fault.recipient == recipient else { return false }
    return fault.probability >= 1 || random() < fault.probability
  }
}
