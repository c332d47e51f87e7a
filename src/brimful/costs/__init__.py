"""What computing costs, by arithmetic alone: operations into profiles, transformers into operations. Pure."""
