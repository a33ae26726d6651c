/// Treatment of a redelivered message.
public enum MarkTreatment: Sendable, Hashable {
  /// It is worked on together with others, under a mark of them all.
  case group
  /// It is worked on while nothing else is, under a mark of its own.
  case alone
  /// It goes to the dead letters unread.
  case bury
  /// Even that ended the process: the broker moves it.
  case leave
}

/// Decides what is done with redelivered messages, by what their marks say. Without I/O.
public enum MarkPlan {
  /// Messages under one mark. The fewer, the fewer are looked at one by one after a crash; the more, the fewer commits.
  public static let maxGroup = 16
  /// A message that so many processes died of, each while it worked on nothing else, is buried. One death may be anybody's fault, as
  /// when the machine runs out of memory; three are not.
  public static let maxDeaths = 3
  /// The delivery that is the last one where no marks can be kept. It must come before the broker's own limit.
  public static let lastDelivery = 20

  /// A part of a plan: messages, by their places, that are treated together.
  public struct Step: Sendable, Hashable {
    /// Their treatment.
    public var treatment: MarkTreatment
    /// Their places among the messages that were asked about; one, unless they are a group.
    public var places: [Int]
  }

  /// Treatment of a message of which that is known.
  public static func treatment(_ standing: MarkStanding) -> MarkTreatment {
    if standing.deaths > maxDeaths { return .leave }
    if standing.deaths == maxDeaths { return .bury }
    return standing.isSuspect ? .alone : .group
  }

  /// Treatment of a message where no marks can be kept.
  /// - Parameter redeliveries: How often it was delivered before, as the broker counts.
  public static func treatment(redeliveries: Int) -> MarkTreatment {
    // The broker's count includes this message's neighbours' crashes: nothing better is known here.
    redeliveries + 1 >= lastDelivery ? .bury : .group
  }

  /// The order in which the messages are worked on.
  ///
  /// First what ends nobody: those that go to the dead letters, then groups of those that nothing is known of. Then one by one, those
  /// first that fewest processes died of, so that whoever is innocent does not wait for three crashes of each that is not.
  public static func steps(_ treatments: [MarkTreatment], deaths: [Int]) -> [Step] {
    func places(_ treatment: MarkTreatment) -> [Int] { treatments.indices.filter { treatments[$0] == treatment } }
    let groups = places(.group)
    let alone = places(.alone).sorted { (deaths[$0], $0) < (deaths[$1], $1) }
    return places(.leave).map { Step(treatment: .leave, places: [$0]) }
      + places(.bury).map { Step(treatment: .bury, places: [$0]) }
      + stride(from: 0, to: groups.count, by: maxGroup).map {
        Step(treatment: .group, places: Array(groups[$0..<min($0 + maxGroup, groups.count)]))
      }
      + alone.map { Step(treatment: .alone, places: [$0]) }
  }
}
