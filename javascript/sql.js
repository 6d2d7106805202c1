// What `make sql` bundles for the explorer: a reader of Parquet and an SQL engine, in the versions that deno.lock pins.
import { parquetReadObjects } from "npm:hyparquet@1.31.5";
import { collect, executeSql } from "npm:squirreling@0.12.11";

window.ccreportSql = { parquetReadObjects, collect, executeSql };
