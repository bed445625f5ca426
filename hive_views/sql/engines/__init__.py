"""Tables of facts about engines, each with the version of the engine that it was measured on."""
