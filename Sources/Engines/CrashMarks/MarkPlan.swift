/// Treatment of a redelivered message.
public enum MarkTreatment: Sendable, Hashable {
  /// Process it together with others, under one mark.
  case group
  /// Process it while nothing else is processed, under a mark of its own.
  case alone
  /// Move it to the dead letters unread.
  case bury
  /// Leave it to the broker, which moves it: even burying it ended the process.
  case leave
}

/// Decides how redelivered messages are treated, from their marks. Without I/O.
public enum MarkPlan {
  /// Maximum messages under one mark. Smaller groups leave fewer suspects after a crash; larger ones need fewer
  /// commits.
  public static let maxGroup = 16
  /// Deaths after which a message is buried, each of a process that worked on nothing else. One death may have another
  /// cause, as when the machine runs out of memory; three do not.
  public static let maxDeaths = 3
  /// The last delivery of a message where marks cannot be kept. It must come before the broker's own limit.
  public static let lastDelivery = 20

  /// A part of a plan: messages that are treated together.
  public struct Step: Sendable, Hashable {
    /// Their treatment.
    public var treatment: MarkTreatment
    /// Indices into the planned messages. One, unless the step is a group.
    public var places: [Int]
  }

  /// Treatment of a message with these marks.
  public static func treatment(_ standing: MarkStanding) -> MarkTreatment {
    if standing.deaths > maxDeaths { return .leave }
    if standing.deaths == maxDeaths { return .bury }
    return standing.isSuspect ? .alone : .group
  }

  /// Treatment of a message where marks cannot be kept.
  /// - Parameter redeliveries: number of earlier deliveries, as the broker counts.
  public static func treatment(redeliveries: Int) -> MarkTreatment {
    // The broker's count includes crashes caused by neighbors: nothing better is known here.
    redeliveries + 1 >= lastDelivery ? .bury : .group
  }

  /// The order of processing.
  ///
  /// First the harmless steps: messages for the dead letters, then groups without suspects. Then the suspects one by
  /// one, those with the fewest deaths first, so that an innocent message does not wait for three crashes of each
  /// guilty one.
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

  /// The order of processing where messages keep theirs: an innocent one waits for the crashes of a guilty one before it.
  public static func stepsInOrder(_ treatments: [MarkTreatment]) -> [Step] {
    var steps: [Step] = []
    for (place, treatment) in treatments.enumerated() {
      if treatment == .group, let last = steps.last, last.treatment == .group, last.places.count < maxGroup {
        steps[steps.count - 1].places.append(place)
      } else {
        steps.append(Step(treatment: treatment, places: [place]))
      }
    }
    return steps
  }
}
