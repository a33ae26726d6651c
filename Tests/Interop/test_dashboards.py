"""Grafana's dashboards: each query, evaluated by promtool on the series that the processes of a stack and its broker show."""

import json
import os
import re
import subprocess
import tempfile
import unittest
import urllib.request
from pathlib import Path

import gateway_client
import metric_names
import stack
from process import free_port

ROOT = Path(__file__).resolve().parents[2]
ALERTS = ROOT / "deploy/prometheus/alerts.yml"
# Counters whose labels nobody knows before: a rule on many delays, one on a share of many, and those of each webhook.
LATE = {"countersign_job_delays_total", "countersign_conversion_sent_total", "countersign_conversion_verified_total",
        "countersign_webhook_dropped_total"}
DASHBOARDS = sorted((ROOT / "deploy/grafana").glob("*.json"))


def queries():
    """Title and query of each target of each panel."""
    for path in DASHBOARDS:
        for panel in json.loads(path.read_text())["panels"]:
            for target in panel["targets"]:
                yield f"{path.stem}: {panel['title']}", target["expr"]


def scraped(url, instance, job="countersign"):
    """Series of a page, as Prometheus keeps them."""
    with urllib.request.urlopen(url, timeout=60) as response:
        page = response.read().decode()
    for line in page.splitlines():
        if match := re.match(r"([a-zA-Z_:]+)(?:\{(.*)\})? ", line):
            labels = [f'job="{job}"', f'instance="{instance}"', *([match[2]] if match[2] else [])]
            yield match[1], f"{match[1]}{{{','.join(labels)}}}"


class DashboardsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """A verification with a wrong code and the right one, so that what has no series before is there."""
        number, web = gateway_client.new_number(), gateway_client.Web()
        session = web.send_code(number)
        code = gateway_client.received_code(number)
        with unittest.TestCase().assertRaises(gateway_client.APIError):
            web.sign_in(session, "000000" if code != "000000" else "000001")
        web.sign_in(session, code)
        cls.series = cls.processes() | cls.broker()

    @staticmethod
    def processes():
        urls = [*stack.coordinator_urls(), *stack.accounts_urls(), *stack.gateway_health_urls()]
        for variable in ["SMS", "PUSH", "REVOCATION", "MAIL", "WEBHOOK"]:
            urls += os.environ[f"COUNTERSIGN_{variable}_WORKER_URLS"].split(",")
        found = {"up": set()}
        for url in urls:
            instance = url.split("/")[2]
            found["up"].add(f'up{{job="countersign",instance="{instance}"}}')
            for name, text in scraped(url + "/metrics", instance):
                found.setdefault(name, set()).add(text)
        return found

    @staticmethod
    def broker():
        """The plugin is started for this test: the stack's brokers do without it."""
        port = free_port()
        control = [ROOT / "deploy/lib/broker-ctl", stack.DIRECTORY / "broker", stack.DIRECTORY / "secrets", "rabbitmqctl", "eval"]

        def evaluate(text):
            subprocess.run([*control, text], check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=120)

        evaluate(f"ok = application:load(rabbitmq_prometheus), "
                 f"application:set_env(rabbitmq_prometheus, tcp_config, [{{ip, \"127.0.0.1\"}}, {{port, {port}}}]), "
                 f"{{ok, _}} = application:ensure_all_started(rabbitmq_prometheus).")
        try:
            found = {}
            for name, text in scraped(f"http://127.0.0.1:{port}/metrics/per-object", "broker", job="rabbitmq"):
                found.setdefault(name, set()).add(text)
            return found
        finally:
            evaluate("application:stop(rabbitmq_prometheus), application:unload(rabbitmq_prometheus).")

    def all_series(self):
        """What was shown, and by its declaration what shows itself only once something has gone wrong, or with PostgreSQL."""
        series = set().union(*self.series.values())
        for name, labels in metric_names.declared().items():
            if not {name, name + "_bucket"} & set(self.series):
                fields = ",".join(f'{label}="x"' for label in ["job", "instance", *sorted(labels)])
                series.add(f"{name}{{{fields}}}")
        return sorted(series)

    def test_each_query_finds_something(self):
        found = list(queries())
        self.assertGreater(len(found), 50)
        tests = [{"expr": f"count({query.replace('$__rate_interval', '5m')}) > bool 0", "eval_time": "10m",
                  "exp_samples": [{"labels": "{}", "value": 1}]} for _, query in found]
        document = {"evaluation_interval": "15s", "tests": [{
            "interval": "15s", "input_series": [{"series": text, "values": "0+1x60"} for text in self.all_series()],
            "promql_expr_test": tests}]}
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory) / "queries.json"
            file.write_text(json.dumps(document))
            done = subprocess.run([ROOT / "deploy/prometheus/promtool", "test", "rules", file], capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-2000:])

    def test_counters_of_alerts_are_there_before_their_first_event(self):
        """Prometheus takes the first value of a series for its beginning: one that begins with 1 has not increased."""
        found = set(re.findall(r"\((countersign_\w+_total)(?:\{([^}]*)\})?\[", ALERTS.read_text()))
        self.assertGreater(len(found), 30)
        for name, selector in sorted(found):
            if name in LATE or name.startswith("countersign_database_") and not stack.IS_POSTGRESQL:
                continue
            patterns = [f'[{{,]{label}="({value if is_pattern else re.escape(value)})"[,}}]'
                        for label, is_pattern, value in re.findall(r'(\w+)=(~?)"([^"]*)"', selector)]
            fitting = [one for one in self.series.get(name, ()) if all(re.search(pattern, one) for pattern in patterns)]
            with self.subTest(name, selector=selector):
                self.assertTrue(fitting)

    def test_a_panel_has_its_place_and_a_dashboard_its_name(self):
        for path in DASHBOARDS:
            dashboard = json.loads(path.read_text())
            places = [tuple(panel["gridPos"].values()) for panel in dashboard["panels"]]
            numbers = [panel["id"] for panel in dashboard["panels"]]
            self.assertEqual(dashboard["uid"], "countersign-" + path.stem)
            self.assertEqual([len(set(places)), len(set(numbers))], [len(places), len(numbers)], path.stem)
