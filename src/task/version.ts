/** Errand's version: a test holds it to the package's manifest. */
export const VERSION = "0.1.0";
