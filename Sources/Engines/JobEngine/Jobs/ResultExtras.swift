public import CountersignMessages

/// Fields that a job type adds to its results, by name.
public typealias ResultExtras = [String: JobResult.Value]
