/// One series of a metric: the numbers under one set of label values.
public protocol MetricSeries: AnyObject, Sendable {}

/// The registry's view of a series.
protocol RenderedSeries: MetricSeries {
  func render(_ name: String, _ labels: LabelText, into text: inout String)
}

extension Counter: RenderedSeries {}
extension Gauge: RenderedSeries {}
extension Histogram: RenderedSeries {}
