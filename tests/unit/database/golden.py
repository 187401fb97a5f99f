# SPDX-License-Identifier: Apache-2.0
"""Databases in a form that can be compared: the numbers that differ from run to run are replaced by what they stand for."""
import collections
import sqlite3

PLAIN_MARK = 4_000_000_000
TEXTS = {
    "TASK": ["taskType"],
    "COMPUTE_TASK_INFO": ["name", "taskType", "opType", "inputFormats", "inputDataTypes", "inputShapes", "outputFormats",
                          "outputDataTypes", "outputShapes", "attrInfo", "opState", "hf32Eligible", "gridDim", "blockDim"],
    "COMMUNICATION_SCHEDULE_TASK_INFO": ["name", "taskType", "opType"],
    "COMMUNICATION_OP": ["opName", "groupName", "algType", "opType"],
    "COMMUNICATION_TASK_INFO": ["name", "taskType", "groupName"],
    "CANN_API": ["name"],
    "MSTX_EVENTS": ["message", "domainId"],
    "TASK_PMU_INFO": ["name"],
    "NPU_MEM": ["type"],
    "NPU_OP_MEM": ["operatorName", "type", "component"],
    "HBM": ["type"],
    "LLC": ["mode"],
    "QOS": ["eventName"],
    "SIO": ["name"],
}
# Numbers of rows, which say nothing.
ROW_NUMBERS = {"OVERLAP_ANALYSIS": "id", "CANN_API": "connectionId", "COMMUNICATION_OP": "opId"}


class Database:
    def __init__(self, connection):
        self.connection = connection
        self.texts = dict(self.rows("SELECT id, value FROM STRING_IDS"))
        self.schema = {name: sql for name, sql in self.rows("SELECT name, sql FROM sqlite_master WHERE sql NOT NULL")}
        self.calls = {}
        if "CANN_API" in self.schema:
            self.calls = {i: (begin, thread, self.texts[name]) for i, begin, thread, name in
                          self.rows("SELECT connectionId, startNs, globalTid, name FROM CANN_API")}
        self.tasks = {}
        for number, device, stream, task, context, kind in self.rows(
                "SELECT globalTaskId, deviceId, streamId, taskId, contextId, taskType FROM TASK ORDER BY startNs DESC"):
            first = min(s for s, in self.rows(f"SELECT startNs FROM TASK WHERE globalTaskId = {number}"))
            self.tasks[number] = (device, stream, task, context, self.texts[kind], first)
        self.collectives = {}
        if "COMMUNICATION_OP" in self.schema:
            self.collectives = {i: (self.texts[name], device, begin) for i, name, device, begin in
                                self.rows("SELECT opId, opName, deviceId, startNs FROM COMMUNICATION_OP")}

    def rows(self, query):
        return self.connection.execute(query).fetchall()

    def tables(self):
        return {name for name, sql in self.schema.items() if sql.startswith("CREATE TABLE")}

    def columns(self, table):
        return [row[1] for row in self.rows(f"PRAGMA table_info({table})")]

    def meaning(self, table, column, value):
        if column in TEXTS.get(table, ()):
            return self.texts[value]
        if column == "globalTaskId":
            return self.tasks[value]
        if column == "opId":
            return self.collectives[value]
        if column == "connectionId" and table != "MSTX_EVENTS" and value < PLAIN_MARK:
            return self.calls.get(value, "no call")
        if isinstance(value, float):
            return float(f"{value:.10g}")
        return value

    def table(self, name):
        """Rows as dictionaries of what the cells mean."""
        columns = self.columns(name)
        left_out = ROW_NUMBERS.get(name)
        return [{c: self.meaning(name, c, v) for c, v in zip(columns, row) if c != left_out}
                for row in self.rows(f"SELECT * FROM {name}")]


def opened(path):
    return Database(sqlite3.connect(f"file:{path}?mode=ro", uri=True))


def from_script(path):
    connection = sqlite3.connect(":memory:")
    with open(path, encoding="utf-8") as f:
        connection.executescript(f.read())
    return Database(connection)


def counted(rows):
    return collections.Counter(tuple(sorted(row.items())) for row in rows)
