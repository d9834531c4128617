// Loaded into a client before its own code: connections go to this machine or fail at once.
// morphmcp reports errors to its maker whatever its URL is; a test must not.
"use strict";
const dns = require("node:dns");

const lookup = dns.lookup;
dns.lookup = (name, options, callback) => {
  const tell = callback ?? options;
  if (name === "localhost" || name === "127.0.0.1") {
    return lookup(name, options, callback);
  }
  const error = Object.assign(new Error(`${name} is not this machine`), { code: "ENOTFOUND" });
  return process.nextTick(tell, error);
};
