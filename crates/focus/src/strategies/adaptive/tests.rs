//! Tests of the whole strategy; its parts are tested where they are.
