import JobEngine

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

struct RouteTable: Sendable {
  private let routes: [LaneRoute]
  /// All lanes, if none has rules or a weight: every message then takes the same way.
  private let everyLane: [any SMSLane]?

  init(_ routes: [LaneRoute]) {
    self.routes = routes
    everyLane = routes.allSatisfy { $0.rules == RouteRules() } ? routes.map(\.lane) : nil
  }

  /// None if no lane takes it.
  ///
  /// Neighboring lanes with a weight are drawn by lot. The lot depends on the job, so its order is the same on every
  /// delivery and every worker.
  func lanes(to number: String, app: String?, jobID: String, region: () -> String?) -> [any SMSLane] {
    if let everyLane { return everyLane }
    var known: String??
    func regionOnce() -> String? {
      if let known { return known }
      let found = region()
      known = .some(found)
      return found
    }
    let candidates = routes.filter { $0.rules.admit(number: number, app: app, region: regionOnce) }
    return ordered(candidates, jobID).map(\.lane)
  }

  private func ordered(_ candidates: [LaneRoute], _ jobID: String) -> [LaneRoute] {
    var order: [LaneRoute] = []
    var group: [LaneRoute] = []
    for route in candidates {
      if route.rules.weight == nil {
        order += drawn(group, jobID) + [route]
        group = []
      } else {
        group.append(route)
      }
    }
    return order + drawn(group, jobID)
  }

  /// Draws lanes by weighted sampling without replacement: the smallest of -ln(u) / weight is first (Efraimidis and
  /// Spirakis, 2006).
  private func drawn(_ group: [LaneRoute], _ jobID: String) -> [LaneRoute] {
    guard group.count > 1 else { return group }
    let keyed = group.map { route in
      (key: -log(Lot.uniform(jobID, route.lane.name)) / (route.rules.weight ?? 1), route: route)
    }
    return keyed.sorted { $0.key < $1.key }.map(\.route)
  }
}

/// Pseudorandom numbers that depend on texts alone, and are the same on every machine.
enum Lot {
  /// Between 0 and 1, exclusively.
  static func uniform(_ texts: String...) -> Double {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325  // FNV-1a, 64 bits
    for text in texts {
      for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
      hash = (hash ^ 0xff) &* 0x100_0000_01b3
    }
    // FNV's upper bits hardly depend on the last bytes: the finalizer of SplitMix64 mixes them.
    hash = (hash ^ (hash >> 30)) &* 0xbf58_476d_1ce4_e5b9
    hash = (hash ^ (hash >> 27)) &* 0x94d0_49bb_1331_11eb
    hash ^= hash >> 31
    return (Double(hash >> 11) + 0.5) / Double(1 << 53)
  }
}
